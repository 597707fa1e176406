import { fieldIndex } from '../columns/header.ts';
import { EXACT_NAMES, HeaderRule, type KnownColumns } from '../columns/header-rule.ts';
import { folded } from '../folded.ts';
import type { SheetRow } from './sheet-rows.ts';

/**
 * Finds headers further down in a sheet: pages one below the other, or a second table. A row is one if it repeats the first
 * header, or by the rule for headers. Empty cells of a row do not count.
 */
export class LaterHeaderRows {
  repeated = 0;
  /** Those of other columns, or of another order. */
  other = 0;
  /** Those of them that name a column that is left out. */
  leftOut = 0;
  readonly #rule: HeaderRule;
  readonly #header: FoldedHeader | null;
  readonly #ends: ReadonlySet<string>;

  /** @param header `null` where the rows have no header, so that no row repeats it */
  constructor(known: KnownColumns, first: number, header: readonly string[] | null) {
    const { columns, fields, excepted, labels } = known.listed;
    this.#rule = new HeaderRule(known, fieldIndex(known.listed));
    this.#header = header && foldedHeader(header, first);
    const texts = [...fields, ...excepted].flatMap(({ name, label }) => [name, label ?? '']);
    const all = [...columns, ...texts, ...Object.keys(labels), ...known.covered, ...(header ?? [])];
    this.#ends = new Set(all.flatMap((text) => endOf(folded(text)) ?? []));
  }

  /** Looks at a row below the header. */
  look({ columns, texts }: SheetRow): void {
    const tried = this.#rule.covers && texts.length > EXACT_NAMES ? Math.floor(texts.length / 2) : 0;
    let strangers = 0;
    for (const text of texts) if (!this.#mayBeListed(text) && ++strangers > tried) return;
    if (this.#header && repeatsHeader({ columns, texts }, this.#header)) {
      this.repeated += 1;
      return;
    }
    const verdict = this.#rule.judge(texts, this.#lacks(columns));
    if (verdict !== 'none') this.other += 1;
    if (verdict === 'leftOut') this.leftOut += 1;
  }

  /** A quick look at the end of a text: most cells end otherwise than any text that is listed. */
  #mayBeListed(text: string): boolean {
    const end = endOf(text);
    return (
      end === undefined || this.#ends.has(end) || (text.includes('.') && /^[\p{L}\p{M}\p{N}_.-]{1,80}$/u.test(text))
    );
  }

  /** A cell between others is empty where that of the header is not. */
  #lacks(columns: readonly number[]): boolean {
    const { first = 0, before = [] } = this.#header ?? {};
    const filledBefore = (column: number) => before[Math.min(Math.max(0, column - first), before.length - 1)] ?? 0;
    return columns.some((column, place) => filledBefore(columns[place + 1] ?? column) > filledBefore(column + 1));
  }
}

export interface FoldedHeader {
  /** The column of its first cell. */
  first: number;
  cells: readonly string[];
  /** How many cells before each place have a text. */
  before: readonly number[];
}

export function foldedHeader(header: readonly string[], first: number): FoldedHeader {
  const cells = header.map(folded);
  const before = [0];
  for (const [place, cell] of cells.entries()) before.push((before[place] ?? 0) + (cell === '' ? 0 : 1));
  return { first, cells, before };
}

/** Whether a row has the texts of a header, and no others. */
export function repeatsHeader(
  { columns, texts }: Pick<SheetRow, 'columns' | 'texts'>,
  { first, cells, before }: FoldedHeader,
): boolean {
  if (before.at(-1) !== texts.length) return false;
  return columns.every((column, place) => folded(texts[place] ?? '') === cells[column - first]);
}

const END = 3;

/** The last letters and digits of a text in small letters; `undefined` where folding may change other characters in it. */
function endOf(text: string): string | undefined {
  let end = '';
  for (let at = text.length - 1; at >= 0 && end.length < END; at -= 1) {
    const code = text.charCodeAt(at);
    const letter = (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || (code >= 0x5d0 && code <= 0x5ea);
    if (letter) end = text[at] + end;
    else if (code >= 0x41 && code <= 0x5a) end = String.fromCharCode(code + 32) + end;
    else if (code >= 0x7f) return undefined;
  }
  return end;
}
