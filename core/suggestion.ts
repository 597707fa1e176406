import { closest, distance } from 'fastest-levenshtein';

/** Returns ` (did you mean "leads"?)` if one of the names is similar. Case, blanks and underscores do not count. */
export function suggestion(typed: string, names: readonly string[]): string {
  const comparable = (text: string) => text.toLowerCase().replace(/[_ ]/g, '-');
  const comparableNames = names.map(comparable);
  const nearest = closest(comparable(typed), comparableNames);
  const near = names[comparableNames.indexOf(nearest)];
  return near && distance(comparable(typed), nearest) <= Math.max(2, near.length / 3)
    ? ` (did you mean "${near}"?)`
    : '';
}

/** A name from outside, for a message. A text that may be a token or a record is not repeated. */
export function quotedName(typed: string, names: readonly string[] = []): string {
  const quoted = isSafeName(typed) ? `"${typed}"` : `a name of ${typed.length} characters that is not repeated here`;
  return `${quoted}${suggestion(typed.slice(0, LONGEST_NAME), names)}`;
}

/** Quotes at most ten names from outside in a message. */
export function quotedNames(typed: readonly string[], names: readonly string[] = []): string {
  return typed
    .slice(0, 10)
    .map((name) => quotedName(name, names))
    .join(', ');
}

const LONGEST_NAME = 40;
const LONGEST_LABEL = 80;
/** Shorter words are not taken for tokens: the shortest API keys have 16 characters, with digits among them. */
const SHORTEST_TOKEN = 16;

/** Whether a text is a comparable label: a few words on one line, but no token, address or number. */
export function isSafeLabel(text: string): boolean {
  if (text.length > LONGEST_LABEL || !/^[\p{L}\p{M}\p{N} _\-.,:;/()&%#+*?!'"\u05f3\u05f4\u20aa\u2013]+$/u.test(text))
    return false;
  return /\p{L}/u.test(text) && text.split(' ').every((word) => word.length < SHORTEST_TOKEN || !/\d/.test(word));
}

/** Whether a text is a comparable name of a field or entity, but no token, address or number. */
export function isSafeName(text: string): boolean {
  if (text.length > LONGEST_NAME || !/^\p{L}[\p{L}\d_-]*$/u.test(text)) return false;
  return text.length < SHORTEST_TOKEN || !/\d/.test(text);
}
