import { behindPath, cased, folded, INVISIBLE } from './folded.ts';

/**
 * The names of left out columns that filters or sorts hold, however they are written: to select by a column tells what
 * is in it. Which of their texts are names, only the CRM knows, so every word counts.
 */
export function exceptedIn(filtersOrSorts: unknown, names: readonly string[]): string[] {
  const texts = textsIn(filtersOrSorts).map((text) => cased(text).replace(INVISIBLE, ''));
  return names.filter((name) => {
    const letters = Array.from(folded(name), (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
    const word = new RegExp(`(?<![\\p{L}\\d_])${letters.join(WITHIN)}(?![\\p{L}\\d_])`, 'u');
    return letters.length > 0 && texts.some((text) => word.test(text));
  });
}

/** What may stand between the letters of one name; a comma stands between two names. */
const WITHIN = '[\\p{Z}\\p{Pd}\\p{Pc}.\'"׳״]*';

/** The labels that are the whole of a text in filters or sorts: as a part of a sentence they may mean anything. */
export function labelsIn(filtersOrSorts: unknown, labels: readonly string[]): string[] {
  const whole = new Set(textsIn(filtersOrSorts).flatMap((text) => [text, behindPath(text) ?? text].map(bare)));
  return labels.filter((label) => whole.has(folded(label)));
}

/** The text without the sign that tells the direction of a sort. */
const bare = (text: string) => folded(text.replace(/^\s*[+<>!~]/, ''));

/** Keys and values, at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}
