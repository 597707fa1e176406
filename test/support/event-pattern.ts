import { fencedBlock } from './fenced-block.ts';

/** The event pattern that the document gives to readers, for a bucket. */
export function documentedEventPattern(bucket: string): string {
  return fencedBlock('docs/reading.md', '<!-- event-pattern:begin -->', 'json').replace('BUCKET', bucket);
}
