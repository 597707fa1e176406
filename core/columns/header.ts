import { folded, normalised, pathParts, visible } from '../folded.ts';
import type { Run } from '../step/states.ts';

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
}

/**
 * The fields of an entity. A left-out field is recognised even if the CRM does not list it.
 * @param labels from the configuration (`labelsOf`)
 */
export function listedFields(
  { request, listed, excepted }: Pick<Run, 'request' | 'listed' | 'excepted'>,
  labels: ListedFields['labels'] = {},
): ListedFields {
  const { columns } = request;
  const names = [...columns, ...listed.others];
  const fields = names.map((name, place) => ({ name, label: listed.labels?.[place] ?? null }));
  return { columns, fields, excepted, labels };
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
  /** Number of requested columns. */
  width: number;
  /** The text names a field, left out or not, or the configuration says that it names no field. */
  isListed: (cell: string) => boolean;
  /** The text equals a name, a label or a configured text: not another spelling, and not the end of a path. */
  isExact: (cell: string) => boolean;
}

/** What a cell names. `excepted`: it names, or may name, a left-out field. `none`: no field, by configuration. */
interface Meaning {
  kind: 'unnamed' | 'excepted' | 'listed' | 'none' | 'unlisted';
  /** The field; '' for no field; `undefined` if it is not known, or several fields share the text. */
  name?: string | undefined;
}

/** Matches each cell exactly first, then in other spellings. Large: build one for each header, and pass it on. */
export function fieldIndex(listed: ListedFields): FieldIndex {
  const texts = fieldTexts(listed);
  const meaningOf = meanings(listed, texts);

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
    const known = names.every((name) => name !== undefined) ? names : null;
    return { names: known, ...found };
  };

  return {
    readHeader,
    width: listed.columns.length,
    isListed: (cell) => !['unnamed', 'unlisted'].includes(meaningOf(cell, 0).kind),
    isExact: (cell) => texts.find(cell).exact.length > 0 || texts.find(cell).none,
  };
}

/** @returns the meaning of a cell at a position */
function meanings({ columns, excepted }: ListedFields, texts: ReturnType<typeof fieldTexts>) {
  const left = new Set(excepted.map(({ name }) => name));
  const requested = new Set(columns.filter((name) => !left.has(name)).map(normalised));
  const mayBeLeft = (cell: string, itself: boolean, { exact, told, near, parts }: Found) => {
    if (left.has(cell) || (told !== undefined && left.has(told))) return true;
    if (itself) return false;
    // A text that is listed as a whole is not read as a path.
    const whole = exact.length > 0 || told !== undefined;
    return [exact, ...near, whole ? [] : parts].flat().some((name) => left.has(name));
  };
  const namesOf = (wanted: string | undefined, { exact, told, near }: Found): readonly string[] => {
    const one = wanted ?? told;
    const known = one === undefined ? exact.filter((name) => !left.has(name)) : [one];
    // A text that fits several fields in another spelling is not recognised.
    const [nearest = []] = near;
    return known.length > 0 || nearest.length !== 1 ? known : nearest;
  };
  return (cell: string, place: number): Meaning => {
    if (visible(cell) === '') return { kind: 'unnamed', name: '' };
    const found = texts.find(cell);
    const wanted = columns.slice(place, place + 1).find((name) => found.exact.includes(name) && !left.has(name));
    const itself = wanted !== undefined || requested.has(normalised(cell));
    if (mayBeLeft(cell, itself, found)) return { kind: 'excepted' };
    const names = namesOf(wanted, found);
    if (names.length > 0) return { kind: 'listed', name: names.length === 1 ? names[0] : undefined };
    return found.none ? { kind: 'none', name: '' } : { kind: 'unlisted' };
  };
}

/** Fields that a text may name. */
interface Found {
  exact: readonly string[];
  /** The field that the configuration assigns to the text. */
  told: string | undefined;
  /** The configuration says that the text names no field. */
  none: boolean;
  /** Fields that match the text in another spelling, then fields that match the end of a path. No list is empty. */
  near: readonly (readonly string[])[];
  /** Fields that match any part of a path. */
  parts: readonly string[];
}

type Texts = Map<string, string[]>;

/** Fields by their names and labels, and by the texts of the configuration. */
function fieldTexts({ columns, fields: listed, excepted, labels }: ListedFields) {
  const fields = [...listed, ...excepted];
  const exact: Texts = new Map();
  const near: Texts = new Map();
  const add = (text: string, name: string) => {
    put(exact, normalised(text), name);
    if (folded(text) !== '') put(near, folded(text), name);
  };
  for (const name of columns) add(name, name);
  for (const { name, label } of fields) {
    add(name, name);
    if (label !== null) add(label, name);
  }
  const told = new Map<string, string>();
  const none = new Set<string>();
  const names = [...new Set([...columns, ...fields.map(({ name }) => name)])];
  for (const [text, value] of Object.entries(labels)) {
    if (value === null) none.add(folded(text));
    const meant = value === null ? [] : fieldsCalled(value, names);
    for (const name of meant) add(text, name);
    if (meant.length === 1) told.set(normalised(text), meant[0] ?? '');
  }
  const namesNear = (text: string) => near.get(text) ?? [];
  return {
    find: (text: string): Found => {
      const path = pathParts(text);
      const same = normalised(text);
      const nearby = folded(text);
      // The end of a path names a field only if no part before it names one.
      const end = path?.before.some((part) => near.has(part)) ? undefined : path?.last;
      const ofEnd = end === undefined ? [] : [exact.get(normalised(end)) ?? [], namesNear(folded(end))];
      return {
        exact: exact.get(same) ?? [],
        told: told.get(same),
        none: none.has(nearby),
        near: [namesNear(nearby), ...ofEnd].filter(({ length }) => length > 0),
        parts: path?.all.flatMap(namesNear) ?? [],
      };
    },
  };
}

/** The field with exactly this name; otherwise all fields whose names match in another spelling. */
function fieldsCalled(value: string, names: readonly string[]): string[] {
  return names.includes(value) ? [value] : names.filter((name) => folded(name) === folded(value));
}

function put(texts: Texts, text: string, name: string): void {
  const names = texts.get(text) ?? [];
  if (!names.includes(name)) texts.set(text, [...names, name]);
}
