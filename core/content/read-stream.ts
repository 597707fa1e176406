import { type Csv, type Judgement, judgeFile } from '../files/judge-file.ts';
import type { Facts } from '../gate/facts.ts';
import { NOTHING_SCANNED, type Scan } from '../step/scan.ts';
import { doubtfulEnd, refuseCut } from './csv-ending.ts';
import { csvFacts } from './csv-facts.ts';
import { type CsvEnd, CsvPass } from './csv-pass.ts';
import { csvRemarks } from './csv-remarks.ts';
import { type Reading, refused } from './reading.ts';

/** The first two records lie within so many bytes, or the file is not the requested one. */
export const START_BYTES = 1024 * 1024;

export type Content = Pick<Facts, 'empty' | 'format' | 'dialect' | 'header' | 'content'> & { remarks: string[] };

/** What is known of a file that is empty. */
export const NO_CONTENT: Content = {
  empty: true,
  format: null,
  dialect: null,
  header: null,
  content: null,
  remarks: ['There is nothing in the file.'],
};

export const GZIPPED = ', compressed with gzip';

/** What a stream has begun with, and its rest. */
export interface Begun {
  judged: Exclude<Judgement, { result: 'refused' | 'open' }>;
  /** The whole stream, with what was read of it already. */
  chunks: AsyncGenerator<Uint8Array>;
}

/** @param packed ends the sentence of a refusal: `, compressed with gzip` @throws RunError `FileRejected` */
export async function begin(source: AsyncIterable<Uint8Array>, reading: Reading, packed: string): Promise<Begun> {
  const rest = source[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let bytes = 0;
  let done = false;
  while (bytes < START_BYTES && !done) {
    const next = await rest.next();
    done = next.done ?? false;
    if (next.done) break;
    first.push(next.value);
    bytes += next.value.length;
  }
  const start = Buffer.concat(first);
  const judged = judgeFile(start.subarray(0, START_BYTES), done && bytes <= START_BYTES, reading.expected);
  async function* chunks() {
    yield start;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  try {
    return { judged: accepted(judged, reading, packed), chunks: chunks() };
  } catch (error) {
    await rest.return?.();
    throw error;
  }
}

/** @throws RunError `FileRejected` for what is not accepted */
export function accepted(judged: Judgement, reading: Reading, packed = ''): Begun['judged'] {
  if (judged.gzipped) throw refused(reading, `gzip${packed === GZIPPED ? ' inside of gzip' : packed}`);
  if (judged.result === 'refused') throw refused(reading, `${judged.looks}${packed}`);
  if (judged.result === 'open') throw refused(reading, `a file whose first two records never end${packed}`);
  return judged;
}

/**
 * Reads a CSV file, or what is published unjudged, to its end.
 * @throws RunError `FileRejected` for CSV that is cut off
 */
export async function readStream(
  { judged, chunks }: { judged: Exclude<Begun['judged'], { result: 'zip' }>; chunks: AsyncIterable<Uint8Array> },
  reading: Reading,
): Promise<Content> {
  const csv = judged.result === 'csv' ? judged.csv : null;
  const pass = new CsvPass(NOTHING_SCANNED, csv);
  for await (const chunk of chunks) pass.push(chunk);
  const end = pass.end();
  if (judged.result === 'empty') return NO_CONTENT;
  if (judged.result === 'opaque') return unjudged(judged.format, reading);
  return csvContent(judged.csv, pass.scan, end, reading);
}

/** What is known of a CSV file that was read to its end. @throws RunError `FileRejected` when it was cut off */
export function csvContent(
  csv: Csv,
  scan: Scan,
  end: CsvEnd,
  reading: Pick<Reading, 'what' | 'undeclaredEnd' | 'expected'>,
): Content {
  refuseCut(reading, csv, scan, end);
  const { dialect, header, content } = csvFacts(csv, scan, end);
  const remarks = csvRemarks(csv, scan, { content, dialect }, reading.expected.headerless);
  return { empty: false, format: 'csv', dialect, header, content, remarks };
}

/** What the configuration publishes though nothing is known of it. */
export function unjudged(format: string, { undeclaredEnd, what }: Reading): Content {
  if (undeclaredEnd) throw doubtfulEnd(what, 'it is neither a CSV file nor a spreadsheet');
  const remark = `Nothing in the file was looked at: it is published as it came, for the setting opaque names ${format}.`;
  return { empty: false, format, dialect: null, header: null, content: null, remarks: [remark] };
}
