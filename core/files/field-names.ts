import type { Run } from '../step/states.ts';

/** The fields of an entity, for finding them in the first record of a file. */
export interface ListedFields {
  /** The requested columns, in order. */
  columns: readonly string[];
  /** All that the CRM lists. */
  fields: readonly { name: string; label: string | null }[];
  /** Those that must not be in the file. */
  excepted: Run['excepted'];
}

/** Runs of earlier releases know the requested columns only. What must not be in the file is known by its name even where it is not listed. */
export function listedFields({
  request,
  listed,
  excepted,
}: Pick<Run, 'request' | 'listed' | 'excepted'>): ListedFields {
  const { columns } = request;
  const names = [...columns, ...(listed?.others ?? [])];
  const fields = names.map((name, place) => ({ name, label: listed?.labels?.[place] ?? null }));
  return { columns, fields: [...fields, ...excepted], excepted };
}

/** What the first record of a file says, where it is taken for a header. */
export interface ReadHeader {
  /** The field of each cell, '' for a cell without text; `null` where a text names no field, or several. */
  names: string[] | null;
  /** There are labels in the place of names. */
  labelled: boolean;
  /** Cells that name a listed field that is not left out. */
  listed: number;
  /** Texts that name no listed field. They may be data: never repeated unless the record is known to be a header. */
  unlisted: string[];
  /** Cells that name a column that is left out. */
  excepted: number;
  /** Places of cells without text. */
  unnamed: number[];
}

export interface FieldIndex {
  readHeader: (cells: readonly string[]) => ReadHeader;
  /** Number of requested columns. */
  width: number;
  isListed: (cell: string) => boolean;
  /** A listed text begins like this. */
  mayBeListed: (begins: string) => boolean;
  /** The fields that the cells name or label; `null` where a cell may mean several, none of them requested in its place. */
  namesOf: (cells: readonly string[]) => { names: string[]; labelled: boolean } | null;
  /** How many of the cells name or label a field that must not be there; all beyond the width where no names are known. */
  exceptedIn: (cells: readonly string[], names: readonly string[] | null) => number;
}

export function fieldIndex({ columns, fields, excepted }: ListedFields): FieldIndex {
  /** Fields by name and by label. */
  const meant = new Map<string, Set<string>>();
  const add = (text: string, name: string) => meant.set(plain(text), (meant.get(plain(text)) ?? new Set()).add(name));
  for (const name of columns) add(name, name);
  for (const { name, label } of fields) {
    add(name, name);
    if (label !== null) add(label, name);
  }
  const nameOf = (cell: string, place: number): string | undefined => {
    const found = meant.get(plain(cell));
    const requested = columns[place];
    if (requested !== undefined && found?.has(requested)) return requested;
    return found?.size === 1 ? [...found][0] : undefined;
  };
  const requested = new Set(columns.map(plain));
  const unwanted = new Set(
    excepted.flatMap(({ name, label }) => (label === null ? [name] : [name, label])).map(folded),
  );
  const unwantedNames = new Set(excepted.map(({ name }) => name));
  // A label of the CRM may be known where that of the configuration's column is not.
  const isExcepted = (cell: string, place: number) =>
    (unwanted.has(folded(cell)) || unwantedNames.has(nameOf(cell, place) ?? '')) &&
    !requested.has(plain(cell)) &&
    !meant.get(plain(cell))?.has(columns[place] ?? '');
  const isEmpty = (cell: string) => plain(cell) === '';
  const namesOf: FieldIndex['namesOf'] = (cells) => {
    const names = cells.map((cell, place) => (isEmpty(cell) ? '' : nameOf(cell, place)));
    if (!names.every((name) => name !== undefined)) return null;
    return { names, labelled: names.some((name, place) => plain(name) !== plain(cells[place] ?? '')) };
  };
  return {
    readHeader: (cells) => {
      const found = namesOf(cells);
      const texts = cells.filter((cell) => !isEmpty(cell));
      return {
        names: found?.names ?? null,
        labelled: found?.labelled ?? false,
        listed: cells.filter((cell, place) => meant.has(plain(cell)) && !isExcepted(cell, place)).length,
        unlisted: texts.filter((cell) => !meant.has(plain(cell))),
        excepted: cells.filter(isExcepted).length,
        unnamed: cells.flatMap((cell, place) => (isEmpty(cell) ? [place] : [])),
      };
    },
    width: columns.length,
    isListed: (cell) => meant.has(plain(cell)),
    mayBeListed: (begins) => [...meant.keys()].some((text) => text.startsWith(plain(begins))),
    namesOf: (cells) => (cells.some(isEmpty) ? null : namesOf(cells)),
    exceptedIn: (cells, names) => {
      const beyond = names === null && unwanted.size > 0 ? cells.length - columns.length : 0;
      return Math.max(cells.filter(isExcepted).length, beyond);
    },
  };
}

/** Without blanks around it, in one Unicode form. */
function plain(text: string): string {
  return text.trim().normalize('NFC');
}

/** As different programs may write one name. */
function folded(text: string): string {
  return plain(text)
    .toLowerCase()
    .replace(/[\s_-]/g, '');
}
