import { cased, folded, mentions, normalised, pathParts, visible } from '../folded.ts';
import type { Run } from '../step/states.ts';
import { fieldsNamedBy } from './left-out.ts';

/** Finds the CRM fields that the texts of a file's header name. */

/** The fields that a header is compared with. */
export interface ListedFields {
  /** The requested columns, in order. */
  columns: readonly string[];
  /** Fields that the CRM lists. */
  fields: readonly { name: string; label: string | null }[];
  /** Fields that must not be in the file. */
  excepted: readonly Pick<Run['excepted'][number], 'name' | 'label'>[];
  /** Texts of the configuration and the field of each text; `null` = the text names no field (`columns.labels`). */
  labels: Readonly<Record<string, string | null>>;
  /** The entity of the records. Its name may be the first part of a path, where it names no field. */
  entity?: Run['entity'];
}

/**
 * The fields of an entity. A left-out field is recognised even if the CRM does not list it.
 * @param labels from the configuration (`labelsOf`)
 */
export function listedFields(
  { entity, request, listed, excepted }: Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>,
  labels: ListedFields['labels'] = {},
): ListedFields {
  const { columns } = request;
  const names = [...columns, ...listed.others];
  const fields = names.map((name, place) => ({ name, label: listed.labels?.[place] ?? null }));
  return { columns, fields, excepted, labels, entity };
}

/** The result of reading a record as a header. */
interface ReadHeader {
  /**
   * The field of each cell; '' for a cell without text, or a text that names no field by configuration. `null` if a
   * text is not recognised, fits several fields, or names a left-out field.
   */
  names: string[] | null;
  /** Cells that name a listed field that is not left out. */
  listed: number;
  /** Texts that name no listed field. They may be data: print them only if the record is known to be a header. */
  unlisted: string[];
  /** Cells that name, or may name, a left-out field. */
  excepted: number;
  /** Positions of cells without text. */
  unnamed: number[];
}

export interface FieldIndex {
  readHeader: (cells: readonly string[]) => ReadHeader;
  /** What a cell names. @param place its position in the header, which decides between columns with one label */
  meaningOf: (cell: string, place?: number) => Meaning;
  /** Number of requested columns. */
  width: number;
  /** Whether the text names a field, even a left-out one, or the configuration says that it names no field. */
  isListed: (cell: string) => boolean;
  /** Whether the text equals a name, a label or a configured text, in the same spelling and as a whole. */
  isExact: (cell: string) => boolean;
  /** Whether the meaning of the text is known, and is not the requested column at this position. */
  isMoved: (cell: string, place: number) => boolean;
}

/**
 * What a cell names. `excepted`: it names, or may name, a left-out field. `none`: the configuration says that it names
 * no field.
 */
export interface Meaning {
  kind: 'unnamed' | 'excepted' | 'listed' | 'none' | 'unlisted';
  /** The field; '' for no field; `undefined` if it is not known, or several fields share the text. */
  name?: string | undefined;
}

/**
 * Matches each cell exactly first, then in other spellings. An index is large, so build one for each header and pass it
 * on.
 */
export function fieldIndex(listed: ListedFields): FieldIndex {
  const { columns, excepted } = listed;
  const find = remembered(fieldTexts(listed));
  const left = new Set(excepted.map(({ name }) => name));
  const isLeft = (name: string) => left.has(name);
  const requested = new Set(columns.filter((name) => !isLeft(name)).map(normalised));

  const mayBeLeft = (cell: string, itself: boolean, { assigned, exact, near, parts }: Found) => {
    const others = itself ? [] : [exact, ...near, parts];
    return isLeft(cell) || [assigned, ...others].flat().some(isLeft);
  };
  const meaningOf = (cell: string, place = 0): Meaning => {
    if (visible(cell) === '') return { kind: 'unnamed', name: '' };
    const found = find(cell);
    const exact = found.exact.filter((name) => !isLeft(name));
    const here = columns.slice(place, place + 1).filter((name) => exact.includes(name));
    if (mayBeLeft(cell, here.length > 0 || requested.has(normalised(cell)), found)) return { kind: 'excepted' };
    // A text that fits several fields in another spelling is not recognised.
    const near = found.near.find(({ length }) => length > 0)?.length === 1 ? found.near : [];
    const names = [here, found.assigned, exact, ...near].find(({ length }) => length > 0);
    if (names) return { kind: 'listed', name: names.length === 1 ? names[0] : undefined };
    return found.none ? { kind: 'none', name: '' } : { kind: 'unlisted' };
  };

  const readHeader = (cells: readonly string[]): ReadHeader => {
    const names: (string | undefined)[] = [];
    const found = { listed: 0, unlisted: [] as string[], excepted: 0, unnamed: [] as number[] };
    for (const [place, cell] of cells.entries()) {
      const { kind, name } = meaningOf(cell, place);
      names.push(name);
      if (kind === 'unnamed') found.unnamed.push(place);
      else if (kind === 'unlisted') found.unlisted.push(cell);
      else if (kind !== 'none') found[kind] += 1;
    }
    const allNames = names.every((name) => name !== undefined) ? names : null;
    return { names: allNames, ...found };
  };

  return {
    readHeader,
    meaningOf,
    width: columns.length,
    isListed: (cell) => !['unnamed', 'unlisted'].includes(meaningOf(cell).kind),
    isExact: (cell) => find(cell).exact.length > 0 || find(cell).none,
    isMoved: (cell, place) => {
      const { kind, name } = meaningOf(cell, place);
      return ['listed', 'none'].includes(kind) && name !== columns[place];
    },
  };
}

/** Fields that a text may name. */
interface Found {
  exact: readonly string[];
  /** The field of `exact` that the configuration assigns to the text. */
  assigned: readonly string[];
  /** The configuration says that the text names no field. */
  none: boolean;
  /** Fields that match the text in another spelling, or else fields that match the end of a path. */
  near: readonly (readonly string[])[];
  /**
   * Fields that match any part of a path, and all left-out fields if its beginning mentions one, unless the whole path
   * is listed, whatever its letter case.
   */
  parts: readonly string[];
}

type Texts = Map<string, string[]>;

/** @returns finds fields by their names and labels, and by the texts of the configuration */
function fieldTexts({ columns, fields: listed, excepted, labels, entity }: ListedFields): (text: string) => Found {
  const fields = [...columns.map((name) => ({ name, label: null })), ...listed, ...excepted];
  const [exact, near, assigned]: [Texts, Texts, Texts] = [new Map(), new Map(), new Map()];
  const whole = new Set<string>();
  const add = (text: string, name: string) => {
    put(exact, normalised(text), name);
    if (folded(text) !== '') put(near, folded(text), name);
    whole.add(cased(visible(text)));
  };
  for (const { name, label } of fields) for (const text of [name, label ?? name]) add(text, name);
  const none = new Set<string>();
  const names = [...new Set(fields.map(({ name }) => name))].map((name) => ({ name, label: null }));
  for (const [text, value] of Object.entries(labels)) {
    if (value === null) none.add(folded(text));
    const meant = value === null ? [] : fieldsNamedBy([value], names).map(({ name }) => name);
    for (const name of meant) add(text, name);
    assigned.set(normalised(text), meant);
  }
  const own = entity ? [folded(entity), folded(entity.replace(/s$/, ''))] : [];
  const namesNear = (text: string) => near.get(text) ?? [];
  const leftOut = excepted.map(({ name }) => name);
  const mentionsLeftOut = mentions(excepted.flatMap(({ name, label }) => [name, label ?? name]));
  return (text) => {
    const path = pathParts(text);
    // The end of a path names a field only if no part before it names one.
    const end = path?.before.some((part) => near.has(part) && !own.includes(part)) ? undefined : path?.last;
    const ofEnd = end === undefined ? [] : [exact.get(normalised(end)) ?? [], namesNear(folded(end))];
    const isWhole = whole.has(cased(visible(text)));
    return {
      exact: exact.get(normalised(text)) ?? [],
      assigned: assigned.get(normalised(text)) ?? [],
      none: none.has(folded(text)),
      near: [namesNear(folded(text)), ...ofEnd],
      parts: path && !isWhole ? [...path.all.flatMap(namesNear), ...(mentionsLeftOut(path.front) ? leftOut : [])] : [],
    };
  };
}

/** The largest size of a cache, in characters. A cell of Excel has at most 32,767. */
const MOST_REMEMBERED = 1_000_000;
/** The memory that an entry needs beside its text, in characters. */
const ENTRY_COSTS = 1000;

/** Judges a text once: the same labels occur in many records, and many cells of a sheet may refer to one long text. */
export function remembered<T>(find: (text: string) => T): (text: string) => T {
  const cache = new Map<string, T>();
  let size = 0;
  return (text) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    size += text.length + ENTRY_COSTS;
    if (size > MOST_REMEMBERED) {
      cache.clear();
      size = text.length + ENTRY_COSTS;
    }
    const found = find(text);
    cache.set(text, found);
    return found;
  };
}

function put(texts: Texts, text: string, name: string): void {
  const names = texts.get(text) ?? [];
  if (!names.includes(name)) texts.set(text, [...names, name]);
}
