import { closest, distance } from 'fastest-levenshtein';

/** ` (did you mean "leads"?)` when something known is near, else nothing. Case, blanks and underscores do not count. */
export function suggestion(typed: string, known: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replace(/[_ ]/g, '-');
  const plainKnown = known.map(plain);
  const nearest = closest(plain(typed), plainKnown);
  const near = known[plainKnown.indexOf(nearest)];
  return near && distance(plain(typed), nearest) <= Math.max(2, near.length / 3) ? ` (did you mean "${near}"?)` : '';
}
