import { behindPath, folded, mayBePath, plain, visible } from '../folded.ts';
import type { Run } from '../step/states.ts';

/** The fields of an entity, for finding them in the first record of a file. */
export interface ListedFields {
  /** The requested columns, in order. */
  columns: readonly string[];
  /** All that the CRM lists. */
  fields: readonly { name: string; label: string | null }[];
  /** The fields that must not be in the file. */
  excepted: readonly Pick<Run['excepted'][number], 'name' | 'label'>[];
  /** Texts of the configuration that name fields (`columns.labels`). */
  labels: Readonly<Record<string, string>>;
}

/**
 * What must not be in the file is known by its name even where it is not listed.
 * @param labels of the configuration (`labelsOf`)
 */
export function listedFields(
  { request, listed, excepted }: Pick<Run, 'request' | 'listed' | 'excepted'>,
  labels: ListedFields['labels'] = {},
): ListedFields {
  const { columns } = request;
  const names = [...columns, ...listed.others];
  const fields = names.map((name, place) => ({ name, label: listed.labels?.[place] ?? null }));
  return { columns, fields: [...fields, ...excepted], excepted, labels };
}

/** What the first record of a file says, where it is taken for a header. */
export interface ReadHeader {
  /** The field of each cell, '' for a cell without text; `null` where a text names no field, several, or one that is left out. */
  names: string[] | null;
  /** Labels stand in the place of names. */
  labelled: boolean;
  /** Cells that name a listed field that is not left out. */
  listed: number;
  /** Texts that name no listed field. They may be data: never repeated unless the record is known to be a header. */
  unlisted: string[];
  /** Cells that name a column that is left out, or may. */
  excepted: number;
  /** Places of cells without text. */
  unnamed: number[];
}

export interface FieldIndex {
  readHeader: (cells: readonly string[]) => ReadHeader;
  /** Number of requested columns. */
  width: number;
  /** The text names a field: left out or not, or several by their common label. */
  isListed: (cell: string) => boolean;
  /** The text is exactly a listed one: not another spelling of it, nor what ends a path. */
  isExact: (cell: string) => boolean;
  /** A listed text begins like this. */
  mayBeListed: (begins: string) => boolean;
  /** The fields that the cells name or label; `null` where a cell may mean several, none of them requested in its place. */
  namesOf: (cells: readonly string[]) => { names: string[]; labelled: boolean } | null;
  /** How many of the cells name or label a field that must not be there; all beyond the width where no names are known. */
  exceptedIn: (cells: readonly string[], names: readonly string[] | null) => number;
}

/** What a cell means: fields, of which several may share its text. */
interface Meaning {
  /** A field that is left out, or perhaps one. */
  left: boolean;
  names: readonly string[];
}

/** Fields that are called like a cell. */
interface Found {
  exact: readonly string[];
  /** The field that the configuration says the text means. */
  told: string | undefined;
  /**
   * The fields that the text means once it is folded, then those it means behind a path; none of these lists is empty.
   */
  near: readonly (readonly string[])[];
}

/** @returns what a cell in a place means; `null`: there is nothing to see in it */
function reader({ columns, excepted }: ListedFields, texts: ReturnType<typeof fieldTexts>) {
  const left = new Set(excepted.map(({ name }) => name));
  const requested = new Set(columns.filter((name) => !left.has(name)).map(plain));
  const mayBeLeft = (cell: string, itself: boolean, { exact, told, near }: Found) => {
    if (left.has(cell) || (told !== undefined && left.has(told))) return true;
    return !itself && [exact, ...near].flat().some((name) => left.has(name));
  };
  return (cell: string, place: number): Meaning | null => {
    if (visible(cell) === '') return null;
    const found = texts.find(cell);
    const wanted = columns.slice(place, place + 1).find((name) => found.exact.includes(name) && !left.has(name));
    const itself = wanted !== undefined || requested.has(plain(cell));
    if (mayBeLeft(cell, itself, found)) return { left: true, names: [] };
    const one = wanted ?? found.told;
    const exact = one === undefined ? found.exact.filter((name) => !left.has(name)) : [one];
    if (exact.length > 0) return { left: false, names: exact };
    // A text that could mean several fields once it is folded means none.
    const [nearest = []] = found.near;
    return { left: false, names: nearest.length === 1 ? nearest : [] };
  };
}

/** Finds the fields that the cells of a header mean: each cell is read exactly first, then folded. Build it once for a file. */
export function fieldIndex(listed: ListedFields): FieldIndex {
  const texts = fieldTexts(listed);
  const meaningOf = reader(listed, texts);
  const { length: width } = listed.columns;

  const readHeader = (cells: readonly string[]): ReadHeader => {
    const meanings = cells.map((cell, place) => ({ cell, place, meaning: meaningOf(cell, place) }));
    const seen = meanings.flatMap(({ cell, meaning }) => (meaning === null ? [] : [{ cell, ...meaning }]));
    const names = meanings.map(({ meaning }) =>
      meaning === null ? '' : meaning.names.length === 1 ? meaning.names[0] : undefined,
    );
    const known = names.every((name) => name !== undefined) ? names : null;
    return {
      names: known,
      labelled: known?.some((name, place) => name !== '' && !isName(name, cells[place] ?? '')) ?? false,
      listed: seen.filter(({ names: { length } }) => length > 0).length,
      unlisted: seen.filter(({ left: out, names: { length } }) => !out && length === 0).map(({ cell }) => cell),
      excepted: seen.filter(({ left: out }) => out).length,
      unnamed: meanings.flatMap(({ meaning, place }) => (meaning === null ? [place] : [])),
    };
  };

  return {
    readHeader,
    width,
    isListed: (cell) => {
      const { listed: found, excepted } = readHeader([cell]);
      return found + excepted > 0;
    },
    isExact: (cell) => texts.find(cell).exact.length > 0,
    mayBeListed: texts.mayBegin,
    namesOf: (cells) => {
      const { names, labelled } = readHeader(cells);
      return names === null || names.includes('') ? null : { names, labelled };
    },
    exceptedIn: (cells, names) => {
      const beyond = names === null && listed.excepted.length > 0 ? cells.length - width : 0;
      return Math.max(readHeader(cells).excepted, beyond);
    },
  };
}

const isName = (name: string, cell: string) =>
  [cell, behindPath(cell) ?? cell].some((text) => folded(text) === folded(name));

type Texts = Map<string, string[]>;

/** Fields by what they are called. */
function fieldTexts({ columns, fields, labels }: ListedFields) {
  const exact: Texts = new Map();
  const near: Texts = new Map();
  const add = (text: string, name: string) => {
    put(exact, plain(text), name);
    if (folded(text) !== '') put(near, folded(text), name);
  };
  for (const name of columns) add(name, name);
  for (const { name, label } of fields) {
    add(name, name);
    if (label !== null) add(label, name);
  }
  const told = new Map<string, string>();
  const names = [...new Set([...columns, ...fields.map(({ name }) => name)])];
  for (const [text, value] of Object.entries(labels)) {
    const meant = names.includes(value) ? [value] : names.filter((name) => folded(name) === folded(value));
    for (const name of meant) add(text, name);
    if (meant.length === 1) told.set(plain(text), meant[0] ?? '');
  }
  return {
    find: (text: string): Found => {
      const last = behindPath(text);
      const nearly = [
        near.get(folded(text)),
        ...(last === undefined ? [] : [exact.get(plain(last)), near.get(folded(last))]),
      ];
      return {
        exact: exact.get(plain(text)) ?? [],
        told: told.get(plain(text)),
        near: nearly.filter((found) => found !== undefined),
      };
    },
    mayBegin: (begins: string) => {
      const starts = [folded(begins), folded(behindPath(begins) ?? begins)];
      return mayBePath(begins) || [...near.keys()].some((text) => starts.some((start) => text.startsWith(start)));
    },
  };
}

function put(texts: Texts, text: string, name: string): void {
  const names = texts.get(text) ?? [];
  if (!names.includes(name)) texts.set(text, [...names, name]);
}
