import { readContent } from '../../../core/content/read-content.ts';
import type { Known, Reading } from '../../../core/content/reading.ts';
import { RunError } from '../../../core/errors.ts';
import { csvRecordsIn } from '../../../core/files/csv-records-in.ts';
import { fieldIndex } from '../../../core/files/field-names.ts';
import { kindOf } from '../../../core/files/file-kind.ts';
import { type Expected, judgeFile } from '../../../core/files/judge-file.ts';
import { visible } from '../../../core/folded.ts';
import { rowsOf } from '../../../core/gate/facts.ts';
import { fileRecords } from '../../../core/records/file-records.ts';
import { isPlainLabel } from '../../../core/suggestion.ts';
import type { Looked } from '../../../transfer/source/look.ts';
import { NO_LIMITS } from '../../data/read-file.ts';
import type { SeenFile } from './exchange.ts';
import { isUuid } from './harmless.ts';

const START_BYTES = 1024 * 1024;

/** A file of which nothing is known yet. */
export function unseenFile(column: string): SeenFile {
  return {
    trouble: null,
    rejected: null,
    bytes: 0,
    whole: false,
    contentType: '',
    etag: false,
    undeclaredEnd: false,
    format: null,
    compression: null,
    encoding: null,
    byteOrderMark: false,
    separatorLine: false,
    separator: null,
    lineBreak: null,
    rows: null,
    empty: false,
    header: null,
    headerText: null,
    column,
    sheets: null,
    headerRow: null,
    elsewhere: 0,
    range: null,
  };
}

/** Judges the bytes of a file as a run does; of a file that was cut off, its beginning alone. */
export async function judgedFile(looked: Looked, expected: Expected, column: string): Promise<SeenFile> {
  const { head, etag, undeclaredEnd, bytes, whole } = looked;
  const contentType = /^[a-z]+\/[a-z0-9+.-]+/i.exec(head.contentType)?.[0] ?? '';
  const seen = { ...unseenFile(column), bytes: bytes.length, whole, contentType, etag, undeclaredEnd };
  if (!whole) return { ...seen, ...begun(bytes, expected) };
  try {
    return { ...seen, ...(await read(bytes, { ...readingOf(expected), contentType })) };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const [rejected = ''] = error.message.split(' Accepted is ');
    return { ...seen, rejected, ...(await unproven(bytes, expected)) };
  }
}

function readingOf(expected: Expected): Reading {
  const time = { maxBytes: 512 * 1024 * 1024, secondsLeft: () => Number.POSITIVE_INFINITY };
  return { expected, what: 'The file', contentType: '', undeclaredEnd: false, ...time };
}

function sourceOf(bytes: Buffer) {
  const read = async function* (from: number, to: number) {
    yield bytes.subarray(from, to);
  };
  return { size: bytes.length, read };
}

async function read(bytes: Buffer, reading: Reading): Promise<Partial<SeenFile>> {
  const { facts } = await readContent(sourceOf(bytes), reading);
  const { format, compression, dialect, empty, content } = facts;
  return {
    ...{ format, compression, empty, rows: rowsOf(facts), ...dialect },
    ...(format === 'xlsx' && content && sheetOf(content)),
    header: headerKind(await firstCells(bytes, facts), facts, reading.expected),
  };
}

type Facts = Known['facts'];

function sheetOf({ sheets, place, elsewhere }: NonNullable<Facts['content']>): Partial<SeenFile> {
  return { sheets, headerRow: place?.row ?? null, elsewhere };
}

async function firstCells(bytes: Buffer, facts: Facts): Promise<string[]> {
  if (facts.header === null) return [];
  for await (const cells of fileRecords(sourceOf(bytes), facts, NO_LIMITS)) return cells;
  return [];
}

function headerKind(
  cells: string[],
  { header, content }: Pick<Facts, 'header' | 'content'>,
  expected: Expected,
): SeenFile['header'] {
  if (header === null) return content?.headed === false ? 'none' : null;
  if (cells.every((cell, place) => cell === header[place])) return 'names';
  if (cells.some((cell) => Object.hasOwn(expected.labels, cell))) return 'other';
  const index = fieldIndex(expected);
  return cells.every((cell) => index.isExact(cell)) ? 'labels' : 'folded';
}

function begun(bytes: Buffer, expected: Expected): Partial<SeenFile> {
  const judged = judgeFile(bytes.subarray(0, START_BYTES), false, expected);
  const compression = judged.gzipped ? 'gzip' : null;
  if (judged.result === 'refused') return { compression, rejected: `The file looks like ${judged.looks}.` };
  if (judged.result === 'zip') return { compression, format: judged.sheet ? 'xlsx' : null };
  if (judged.result !== 'csv') return { compression };
  const { encoding, byteOrderMark, separatorLine, separator, separatorProven, names, headed } = judged.csv;
  const text = new TextDecoder(encoding ?? 'latin1').decode(bytes.subarray(0, START_BYTES));
  const cells = csvRecordsIn(text.slice(separatorLine).replace(/^\ufeff/, ''), separator).next().value?.cells ?? [];
  const header = headerKind(cells, { header: names?.header ?? null, content: null }, expected);
  return {
    ...{ format: 'csv', compression, encoding, byteOrderMark, separatorLine: separatorLine > 0 },
    ...{ separator: separatorProven ? separator : null, header: headed === false ? 'none' : header },
  };
}

/** A text that proves nothing: it has no header, or one of texts that the CRM does not list. */
async function unproven(bytes: Buffer, expected: Expected): Promise<Partial<SeenFile>> {
  const judged = judgeFile(bytes.subarray(0, START_BYTES), bytes.length <= START_BYTES, expected);
  const isText = judged.result === 'refused' && judged.looks.startsWith('text whose first record');
  if (!isText || expected.headerless) return {};
  const asRows = await read(bytes, readingOf({ ...expected, headerless: true })).catch(() => undefined);
  if (asRows?.format === 'csv') return { ...asRows, header: 'none' };
  const { encoding = null, byteOrderMark = false } = startOf(bytes);
  return { ...{ format: 'csv', header: 'other', encoding, byteOrderMark }, headerText: headerTextOf(bytes) };
}

function startOf(bytes: Buffer): Partial<SeenFile> {
  const kind = kindOf(bytes.subarray(0, START_BYTES), true);
  return kind.kind === 'text' ? { encoding: kind.start.encoding, byteOrderMark: kind.start.markBytes > 0 } : {};
}

/**
 * The text above the records of a single column, where all of these are UUIDs: only then it is certainly no value of one, for a
 * person may have a passport among numbers, or a word among dates.
 */
function headerTextOf(bytes: Buffer): string | null {
  const kind = kindOf(bytes.subarray(0, START_BYTES), true);
  if (kind.kind !== 'text') return null;
  const text = kind.start.text.replace(/^"?sep=.[^\r\n]*[\r\n]+/i, '');
  const [first, ...rows] = [...csvRecordsIn(text, ',;\t')]
    .filter(({ text: line }) => line !== '')
    .map(({ cells }) => cells);
  const label = visible(first?.[0] ?? '');
  if (first?.length !== 1 || rows.length < 2 || !isPlainLabel(label)) return null;
  return rows.every(([cell, ...others]) => others.length === 0 && isUuid(cell)) && !isUuid(label) ? label : null;
}
