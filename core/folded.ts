/** Invisible characters, such as direction marks, soft hyphens, byte order marks and fillers. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
/** Characters that programs put between the words of a name, and around it. */
const BETWEEN = /[\p{Z}\p{Pd}\p{Pc}\p{Pi}\p{Pf}\s.,:;/\\|·•'"`´׳״]/gu;

/** A text in a single Unicode form, without white space around it, to compare texts of different programs. */
export function normalised(text: string): string {
  return text.trim().normalize('NFC');
}

/** A text without invisible characters; '' if it has no visible ones. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, '').trim();
}

/** Whether a cell has a text. A cell of blanks or invisible characters has none. */
export function isFilled(cell: string): boolean {
  return /[^\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\s]/u.test(cell);
}

/** The small letter of İ. Programs with Turkish settings write `ID` as `İD`. */
const DOTTED_I = /i\u0307/g;

/** A text in a single width and letter case. */
export function cased(text: string): string {
  // Upper case first: some letters have the same capital, but different small letters.
  return text.normalize('NFKC').toUpperCase().toLowerCase().replace(DOTTED_I, 'i').normalize('NFKC');
}

/**
 * A name for comparison: programs may differ in letter case, width, separators, quotation marks and invisible
 * characters.
 */
export function folded(text: string): string {
  return cased(text.normalize('NFKC').replace(INVISIBLE, '').replace(BETWEEN, ''));
}

/** Matches words and dots. Any other text counts as a sentence. */
const PATH = /^[\p{L}\p{M}\p{N}_.-]{1,80}$/u;

/** A path such as `lead.contact.phone`. */
export interface PathParts {
  /** The text before the last dot. */
  front: string;
  /** The part after the last dot. */
  last: string;
  /** Every sequence of parts before `last`, folded: `lead`, `contact`, `leadcontact`. */
  before: string[];
  /** Every sequence of parts except the whole path, folded. */
  all: string[];
}

/** The parts of a path; `undefined` for another text. */
export function pathParts(text: string): PathParts | undefined {
  const wide = text.normalize('NFKC');
  const dot = wide.lastIndexOf('.');
  const last = wide.slice(dot + 1);
  if (dot <= 0 || visible(last) === '' || !PATH.test(visible(wide.slice(0, dot)))) return undefined;
  const before = wide.slice(0, dot).split('.').map(folded);
  const whole = folded(wide);
  const all = runsOf([...before, folded(last)]).filter((run) => run !== whole);
  return { front: wide.slice(0, dot), last, before: runsOf(before), all };
}

/** A path has at most 80 characters, so the result is small. */
function runsOf(parts: readonly string[]): string[] {
  const text = parts.join('');
  const ends: number[] = [];
  for (const { length } of parts) ends.push((ends.at(-1) ?? 0) + length);
  return parts.flatMap((_, place) => ends.slice(place).map((end) => text.slice(ends[place - 1] ?? 0, end)));
}

/** Whether a text, or a part of it as a path, is a name in any spelling. */
export function meansOrContains(text: string, name: string): boolean {
  return [folded(text), ...(pathParts(text)?.all ?? [])].includes(folded(name));
}

/**
 * @returns whether a text contains one of the names as whole words, in any spelling: `customer_nationalId (text)`. An
 *   `s` after a name counts as its plural.
 */
export function mentions(names: readonly string[]): (text: string) => boolean {
  const joinedNames = new Set(names.map((name) => wordsOf(name).join('')).filter((name) => name !== ''));
  const longest = Math.max(0, ...[...joinedNames].map((name) => name.length));
  return (text) => {
    const words = wordsOf(text);
    return words.some((_, place) => {
      let run = '';
      for (let at = place; at < words.length && run.length < longest; at += 1) {
        run += words[at];
        if (joinedNames.has(run) || joinedNames.has(run.replace(/s$/, ''))) return true;
      }
      return false;
    });
  };
}

/** Matches each name in a text that `letters` has returned, with any signs between its letters. */
export function letterPattern(names: readonly string[]): RegExp {
  const joinedNames = names.filter((name) => folded(name) !== '').map((name) => wordsOf(name).join(''));
  const longestFirst = joinedNames.toSorted((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map((name) => [...name].join('[^\\p{L}\\p{M}\\p{N}]*')).join('|') || '(?!)', 'gu');
}

/** A text in a single width and letter case, without invisible characters. */
export function letters(text: string): string {
  return LATIN_OR_HEBREW.test(text) ? text.toLowerCase() : cased(text.replace(INVISIBLE, ''));
}

/** Matches a text in which folding changes only the letter case. */
const LATIN_OR_HEBREW = /^[ -~א-ת]*$/;

/** Places inside a text where a word begins although no other character separates it: `nationalId`, `address2`. */
export const HUMPS = /(?<=\p{Ll})(?=[\p{Lu}\p{N}])|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;

/** The words of a text, folded. */
function wordsOf(text: string): string[] {
  const words = text.normalize('NFKC').replace(/\s/g, ' ').replace(INVISIBLE, '').replace(HUMPS, ' ');
  return words
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .map(cased)
    .filter((word) => word !== '');
}
