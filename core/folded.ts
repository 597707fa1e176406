/** Direction marks, soft hyphens, byte order marks, fillers: what a text may hold and nobody sees. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
/** What programs put between the words of a name, and around it. */
const BETWEEN = /[\p{Z}\p{Pd}\p{Pc}\p{Pi}\p{Pf}\s.,:;/\\|·•'"`´׳״]/gu;

/** A text in one Unicode form, without blanks around it: two programs that mean the same text write it so. */
export function plain(text: string): string {
  return text.trim().normalize('NFC');
}

/** A text of which nothing can be seen is ''. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, '').trim();
}

/** A text in one width and letter case. */
export function cased(text: string): string {
  // Capitals first: some letters have the same capital and different small letters.
  return text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/**
 * A name without letter case, widths, separators, quotation marks and invisible characters, in which programs that
 * write it may differ.
 */
export function folded(text: string): string {
  return cased(text.normalize('NFKC').replace(INVISIBLE, '').replace(BETWEEN, ''));
}

/** Words and dots; more than that is a sentence. */
const PATH = /^[\p{L}\p{M}\p{N}_.-]{1,80}$/u;

/** A path such as `lead.contact.phone`. */
export interface PathParts {
  /** What stands after the last dot. */
  last: string;
  /** Every run of parts before it, folded: `lead`, `contact`, `leadcontact`. */
  before: string[];
  /** Every run of parts but the whole, folded. */
  all: string[];
}

/** The parts of a path; `undefined` where the text is none. */
export function pathParts(text: string): PathParts | undefined {
  const wide = text.normalize('NFKC');
  const dot = wide.lastIndexOf('.');
  const last = wide.slice(dot + 1);
  if (dot <= 0 || visible(last) === '' || !PATH.test(visible(wide.slice(0, dot)))) return undefined;
  const before = wide.slice(0, dot).split('.').map(folded);
  const all = runsOf([...before, folded(last)]);
  return { last, before: runsOf(before), all: all.filter((run) => run !== folded(wide)) };
}

/** At most 80 characters, so at most 40 parts. */
function runsOf(parts: readonly string[]): string[] {
  return parts.flatMap((_, from) =>
    parts.slice(from).map((__, length) => parts.slice(from, from + length + 1).join('')),
  );
}

/** Whether a text, or a part of a path, is a name in any spelling. */
export function meansOrContains(text: string, name: string): boolean {
  return [folded(text), ...(pathParts(text)?.all ?? [])].includes(folded(name));
}
