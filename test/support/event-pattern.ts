import { fencedBlock } from './fenced-block.ts';

const documented = (page: string, name: string, placeholder: string) => (value: string) =>
  fencedBlock(`docs/${page}`, `<!-- ${name}:begin -->`, 'json').replace(placeholder, value);

/** The documented patterns for a bucket: moved pointers, complete nights, feeds. */
export const documentedEventPattern = documented('reading.md', 'event-pattern', 'BUCKET');
export const documentedNightPattern = documented('reading.md', 'night-pattern', 'BUCKET');
export const documentedFeedPattern = documented('changes.md', 'feed-pattern', 'BUCKET');

/** The documented pattern for ends of executions of a machine. */
export const documentedExecutionPattern = documented('notifications.md', 'execution-pattern', 'MACHINE');

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
