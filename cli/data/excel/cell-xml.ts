/** Excel counts in UTF-16 units, as JavaScript does. */
export const LONGEST_CELL = 32_767;

/**
 * What XML 1.0 has no place for or reads as something else: controls, a carriage return, half a surrogate pair. ECMA-376 writes it
 * as `_x000D_` (part 1, 22.9.2.19, ST_Xstring).
 */
const NO_XML = String.raw`(?![\t\n])[\p{Cc}\p{Surrogate}\ufffe\uffff]`;
/** An underscore that would begin such an escape, be it together with one that is written behind it, is escaped itself. */
const ESCAPED = new RegExp(`${NO_XML}|_(?=x[0-9a-f]{4}(?:_|${NO_XML}))`, 'giu');
const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Most texts have nothing of all this: one look tells. */
const SPECIAL = /[&<>_\p{Cc}\p{Surrogate}\ufffe\uffff]/u;
/** Else programs may take such blanks for layout of the XML. */
const BLANKS_COUNT = /^\s|\s$|[\t\n]/;

/** An inline text, which no spreadsheet takes for a formula or number; nothing of an empty text. @param place such as `AB12` */
export function cellXml(text: string, place: string): string {
  if (text === '') return '';
  const space = BLANKS_COUNT.test(text) ? ' xml:space="preserve"' : '';
  return `<c r="${place}" s="1" t="inlineStr"><is><t${space}>${xmlText(text)}</t></is></c>`;
}

function xmlText(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(ESCAPED, escaped).replace(/[&<>]/g, (mark) => MARKUP[mark] ?? mark);
}

function escaped(unit: string): string {
  return `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
}
