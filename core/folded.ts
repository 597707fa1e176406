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

/** What stands behind the last dot of a path such as `lead.phone`; `undefined` where there is no path. */
export function behindPath(text: string): string | undefined {
  const wide = text.normalize('NFKC');
  const dot = wide.lastIndexOf('.');
  const last = wide.slice(dot + 1);
  return dot > 0 && visible(last) !== '' && mayBePath(wide.slice(0, dot)) ? last : undefined;
}

/** Whether a path may begin like this. */
export function mayBePath(begins: string): boolean {
  return PATH.test(visible(begins.normalize('NFKC')));
}
