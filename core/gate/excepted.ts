import type { Facts } from './facts.ts';
import { columnsOf } from './subject.ts';
import { countText } from './texts.ts';

/** Columns that a message names. */
const MOST_NAMED = 5;

/**
 * Counts the places in which a file has, or may have, a column that is left out: every cell of its header must name a
 * listed field that is not, and there must be no value besides. `undefined` where the file is empty.
 */
export function exceptedPlaces({
  empty,
  format,
  header,
  content,
}: Pick<Facts, 'empty' | 'format' | 'header' | 'content'>) {
  if (empty) return undefined;
  const { headed = null, excepted = null, unlisted = null } = content ?? {};
  if (!content || excepted === null || unlisted === null || headed !== true) {
    return { measured: null, detail: `may have columns that must not be there: ${unknownBecause(headed, content)}` };
  }
  const { unnamed, longer, elsewhere, elsewhereKinds, unlistedPlaces, leftOutHeaders } = content;
  const places = unlistedPlaces.slice(0, MOST_NAMED).join(', ');
  const add = places && ` (column ${places} of the header; if it is another column, name its text in columns.labels)`;
  const kinds = elsewhereKinds.length > 0 ? ` (${elsewhereKinds.join(', ')})` : '';
  const besides =
    format === 'xlsx'
      ? `that may hold text besides its rows${kinds}`
      : `that other programs read as further cells, or that lie beside the file${kinds}`;
  const parts: [count: number, text: string][] = [
    [excepted, `${countText(excepted, 'column')} that must not be there`],
    [unlisted, `${countText(unlisted, 'text')} in its header that the CRM does not list${add}`],
    [unnamed, `${countText(unnamed, 'column')} with values and without a name`],
    [repeated(header), `${countText(repeated(header), 'column')} under the name of another one`],
    [leftOutHeaders, `${countText(leftOutHeaders, 'header')} further down with a column that must not be there`],
    [longer, `${countText(longer, 'record')} longer than its header`],
    [elsewhere, `${countText(elsewhere, 'place')} ${besides}`],
  ];
  const found = parts.filter(([count]) => count > 0);
  const measured = found.reduce((sum, [count]) => sum + count, 0);
  // A label that several fields have: which one it is cannot be known.
  if (measured === 0 && header === null)
    return { measured: null, detail: 'may have columns that must not be there: a text of its header means several' };
  return { measured, detail: measured === 0 ? null : `has ${found.map(([, text]) => text).join(', ')}` };
}

/** One of two columns of a name may be any column. */
function repeated(header: Facts['header']): number {
  const named = columnsOf({ header }) ?? [];
  return named.length - new Set(named).size;
}

function unknownBecause(headed: boolean | null, content: Facts['content']): string {
  if (!content) return 'nothing in it was looked at';
  if (headed === false) return 'it seems to have no header';
  return 'its first line names no columns as the CRM lists them; if it is a header, name its texts in columns.labels';
}
