import { readFileSync } from 'node:fs';

/** The event pattern that the document gives to readers, for a bucket. */
export function documentedEventPattern(bucket: string): string {
  const document = readFileSync('docs/reading-the-files.md', 'utf8');
  const [, pattern] = /<!-- event-pattern:begin -->\s+```json\n([^`]+)```/.exec(document) ?? [];
  if (!pattern) throw new Error('docs/reading-the-files.md has no event pattern');
  return pattern.replace('BUCKET', bucket);
}
