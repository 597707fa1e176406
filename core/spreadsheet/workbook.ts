import { posix } from 'node:path';
import { UnreadableFile } from '../file/unreadable-file.ts';
import { partName, type ZipArchive } from '../file/zip-archive.ts';
import { AllowedText } from './allowed-text.ts';
import { builtInFormat, type Calendar, formatOf, type NumberFormat } from './cell-text.ts';
import { readSharedStrings, SharedStrings } from './shared-strings.ts';
import { type SheetFindings, type SheetRow, sheetRows } from './sheet-rows.ts';
import { type Attributes, readXml } from './xml.ts';

/** Opens a workbook (xlsx, ECMA-376): a zip archive of parts that refer to each other. */

export interface Sheet {
  name: string;
  part: string;
  visible: boolean;
  /**
   * The rows that have a value, in order. After the last one, size and checksum of the sheet have been verified.
   * @throws UnreadableFile, ReadingUnfinished; any error from reading the source
   */
  rows(findings?: SheetFindings): AsyncGenerator<SheetRow>;
}

export interface Workbook {
  /** The sheets with cells, in the order of their tabs. Sheets of charts, dialogs and macros are left out. */
  sheets: Sheet[];
  archive: ZipArchive;
  parts: Parts;
  strings: SharedStrings;
  /** Findings, in words, of text in the part of the shared texts that is not a shared text. */
  stringsText: ReadonlySet<string>;
  /** The parts of the sheets and of the shared texts, by their lower-case names. */
  read: ReadonlySet<string>;
  /** The part of the styles, by its lower-case name. */
  styles: string | undefined;
}

/**
 * Opens a workbook and reads all shared texts.
 * @throws UnreadableFile, ReadingUnfinished; any error from reading the archive
 */
export async function openWorkbook(archive: ZipArchive): Promise<Workbook> {
  const parts = await partsOf(archive);
  const main = await readMain(parts);
  const formats = main.styles === null ? [] : await readStyles(parts.read(main.styles));
  const text = new AllowedText('sst');
  const { sharedStrings: part } = main;
  const strings =
    part === null ? new SharedStrings(0) : await readSharedStrings(parts.read(part), parts.sizeOf(part), text);
  const context = { calendar: main.calendar, formats, strings };
  const sheets = main.sheets.map((sheet) => ({
    ...sheet,
    rows: (findings?: SheetFindings) => sheetRows(parts.read(sheet.part), context, findings),
  }));
  const read = new Set([...sheets.map((sheet) => sheet.part), part ?? []].flat().map((name) => name.toLowerCase()));
  const styles = main.styles?.toLowerCase();
  return { sheets, archive, parts, strings, stringsText: text.found, read, styles };
}

/** A package of parts (ECMA-376, part 2). Names of parts have no leading slash; letter case does not matter. */
interface Parts {
  names: string[];
  /** The media type of a part in lower case; '' = no type. */
  typeOf(part: string): string;
  /** The size of a part in bytes; 0 if it does not exist. */
  sizeOf(part: string): number;
  /** @throws UnreadableFile if the part does not exist; any error from reading its bytes */
  read(part: string): AsyncGenerator<Uint8Array>;
  /** The parts that a part refers to inside the package. '' is the package itself. */
  relationships(part: string): Promise<Relationship[]>;
}

interface Relationship {
  id: string;
  /** The last segment of the type's address, which all editions of the standard share: `worksheet`. */
  type: string;
  part: string;
}

const MOST_SHEETS = 10_000;
/** Excel's own limit for styles is 65,490. */
const MOST_LISTED = 100_000;

/** @param listed parts, relationships or styles, which are in memory */
function refuseMany(listed: number): void {
  if (listed > MOST_LISTED) throw new UnreadableFile(`lists more than ${MOST_LISTED} parts or styles`);
}

const TYPES = '[content_types].xml';

async function partsOf(archive: ZipArchive): Promise<Parts> {
  const entries = new Map(archive.entries.map((entry) => [entry.name.toLowerCase(), entry]));
  const read = (part: string) => {
    const entry = entries.get(part.toLowerCase());
    if (!entry) throw new UnreadableFile('refers to a part that it does not have');
    return archive.read(entry);
  };
  return {
    names: archive.entries.map(({ name }) => name),
    typeOf: await readTypes(read(TYPES)),
    sizeOf: (part) => entries.get(part.toLowerCase())?.size ?? 0,
    read,
    relationships: async (part) => {
      const folder = posix.dirname(part);
      const name = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
      return entries.has(name.toLowerCase()) ? readRelationships(folder, read(name)) : [];
    },
  };
}

async function readTypes(chunks: AsyncIterable<Uint8Array>): Promise<Parts['typeOf']> {
  const byPart = new Map<string, string>();
  const byEnding = new Map<string, string>();
  await readXml(chunks, {
    open: (name, depth, attributes) => {
      if (depth !== 2) return;
      const type = (attributes.ContentType ?? '').toLowerCase();
      if (name === 'Override') byPart.set(partName(attributes.PartName ?? '').toLowerCase(), type);
      if (name === 'Default') byEnding.set((attributes.Extension ?? '').toLowerCase(), type);
      refuseMany(byPart.size + byEnding.size);
    },
  });
  return (part) => {
    const name = part.toLowerCase();
    return byPart.get(name) ?? byEnding.get(name.slice(name.lastIndexOf('.') + 1)) ?? '';
  };
}

async function readRelationships(folder: string, chunks: AsyncIterable<Uint8Array>): Promise<Relationship[]> {
  const found: Relationship[] = [];
  await readXml(chunks, {
    open: (_name, depth, attributes) => {
      if (depth !== 2) return;
      const type = (attributes.Type ?? '').split('/').at(-1) ?? '';
      found.push({ id: attributes.Id ?? '', type, part: targetOf(folder, attributes.Target ?? '') });
      refuseMany(found.length);
    },
  });
  return found;
}

/** Resolves a target: relative to the folder of the part that refers to it, or from the root of the package. */
function targetOf(folder: string, target: string): string {
  let path = target;
  try {
    path = decodeURIComponent(target);
  } catch {
    // A target that cannot be decoded is used as it is.
  }
  return partName(path.startsWith('/') ? path : `${folder}/${path}`);
}

async function readMain(parts: Parts) {
  const main = (await parts.relationships('')).find(({ type }) => type === 'officeDocument')?.part;
  if (main === undefined) throw new UnreadableFile('does not refer to a workbook');
  if (main.toLowerCase().endsWith('.bin')) throw new UnreadableFile('is a binary workbook (xlsb)');
  const { sheets: listed, ...settings } = await readMainXml(parts.read(main));
  const relationships = await parts.relationships(main);
  const byId = new Map(relationships.map((relationship) => [relationship.id, relationship]));
  const partOf = (wanted: string) => relationships.find(({ type }) => type === wanted)?.part ?? null;
  const sheets = listed.flatMap(({ id, ...sheet }) => {
    // Other readers ignore a sheet that names no part.
    if (id === '') return [];
    const { type, part } = byId.get(id) ?? {};
    if (part === undefined) throw new UnreadableFile('lists a sheet that it does not have');
    return type === 'worksheet' ? [{ ...sheet, part }] : [];
  });
  if (sheets.length === 0) throw new UnreadableFile('has no worksheet');
  return { ...settings, sheets, sharedStrings: partOf('sharedStrings'), styles: partOf('styles') };
}

async function readMainXml(chunks: AsyncIterable<Uint8Array>) {
  const sheets: { id: string; name: string; visible: boolean }[] = [];
  let calendar: Calendar = 1900;
  await readXml(chunks, {
    open: (name, depth, attributes) => {
      if (depth === 1 && name !== 'workbook') throw new UnreadableFile('is an Office document, but not a workbook');
      if (depth === 2 && name === 'workbookPr' && isTrue(attributes.date1904)) calendar = 1904;
      if (depth === 3 && name === 'sheet') sheets.push(listedSheet(attributes));
      if (sheets.length > MOST_SHEETS) throw new UnreadableFile(`has more than ${MOST_SHEETS} sheets`);
    },
  });
  return { calendar, sheets };
}

/** The attribute `id` may have any namespace prefix. No other `id` of the element has one. */
function listedSheet(attributes: Attributes) {
  const id = Object.entries(attributes).find(([name]) => name.endsWith(':id'))?.[1] ?? '';
  return { id, name: attributes.name ?? '', visible: (attributes.state ?? 'visible') === 'visible' };
}

const isTrue = (text: string | undefined) => text === '1' || text === 'true';

/** The number formats of cells, by the number of their style. */
async function readStyles(chunks: AsyncIterable<Uint8Array>): Promise<NumberFormat[]> {
  const codes = new Map<number, NumberFormat>();
  const ids: number[] = [];
  await readXml(chunks, {
    open: (_name, depth, attributes, parent) => {
      if (depth !== 3) return;
      const id = Number(attributes.numFmtId ?? '0');
      if (parent === 'numFmts') codes.set(id, formatOf(attributes.formatCode ?? ''));
      if (parent === 'cellXfs') ids.push(id);
      refuseMany(ids.length + codes.size);
    },
  });
  return ids.map((id) => codes.get(id) ?? builtInFormat(id));
}
