import { fencedBlock } from './fenced-block.ts';

/** The documented event pattern for readers, for a bucket. */
export function documentedEventPattern(bucket: string): string {
  return fencedBlock('docs/reading.md', '<!-- event-pattern:begin -->', 'json').replace('BUCKET', bucket);
}

/** The documented pattern for complete nights. */
export function documentedNightPattern(bucket: string): string {
  return fencedBlock('docs/reading.md', '<!-- night-pattern:begin -->', 'json').replace('BUCKET', bucket);
}

/** The documented pattern for feeds. */
export function documentedFeedPattern(bucket: string): string {
  return fencedBlock('docs/changes.md', '<!-- feed-pattern:begin -->', 'json').replace('BUCKET', bucket);
}

/** The documented pattern for ends of executions of a machine. */
export function documentedExecutionPattern(machine: string): string {
  return fencedBlock('docs/notifications.md', '<!-- execution-pattern:begin -->', 'json').replace('MACHINE', machine);
}

/** Matches as AWS documents it. Supports only the operators of these patterns. */
export function matchesPattern(pattern: unknown, value: unknown): boolean {
  if (!Array.isArray(pattern))
    return Object.entries(pattern as object).every(([key, inner]) =>
      matchesPattern(inner, (value as Record<string, unknown>)?.[key]),
    );
  return pattern.some((each) => {
    if (each.prefix) return String(value).startsWith(each.prefix);
    return each.wildcard ? wildcard(each.wildcard).test(String(value)) : each === value;
  });
}

/** `*` matches any characters, including `/`. */
function wildcard(text: string): RegExp {
  const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, (mark) => (mark === '*' ? '.*' : `\\${mark}`));
  return new RegExp(`^${escaped}$`);
}
