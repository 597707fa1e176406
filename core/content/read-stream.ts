import { type Judgement, judgeFile } from '../files/judge-file.ts';
import type { Facts } from '../gate/facts.ts';
import { NOTHING_SCANNED } from '../step/states.ts';
import { refuseCut } from './csv-ending.ts';
import { csvFacts } from './csv-facts.ts';
import { CsvPass } from './csv-pass.ts';
import { csvRemarks } from './csv-remarks.ts';
import { doubtfulEnd } from './csv-ending.ts';
import { type Known, type Reading, refused } from './reading.ts';

/** The first two records lie within so many bytes, or the file is not the requested one. */
export const START_BYTES = 1024 * 1024;

export type Content = Pick<Facts, 'empty' | 'format' | 'dialect' | 'header' | 'content'> & { remarks: string[] };

/** Nothing is known but this. */
export const NO_CONTENT: Content = {
  ...{ empty: true, format: null, dialect: null, header: null, content: null },
  remarks: ['There is nothing in the file.'],
};

/** What a stream has begun with, and its rest. */
export interface Begun {
  judged: Exclude<Judgement, { result: 'refused' | 'open' }>;
  /** All of it. */
  chunks: AsyncGenerator<Uint8Array>;
}

/** @param packed ends the sentence of a refusal: `, compressed with gzip` @throws RunError `FileRejected` */
export async function begin(
  source: AsyncIterable<Uint8Array>,
  reading: Reading,
  packed: string,
): Promise<Begun> {
  const rest = source[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let [bytes, done] = [0, false];
  while (bytes < START_BYTES && !done) {
    const next = await rest.next();
    if (next.done) done = true;
    else {
      first.push(next.value);
      bytes += next.value.length;
    }
  }
  const start = Buffer.concat(first);
  const judged = accepted(judgeFile(start.subarray(0, START_BYTES), done && bytes <= START_BYTES, reading.expected), reading, packed);
  async function* chunks() {
    yield start;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return { judged, chunks: chunks() };
}

/** @throws RunError `FileRejected` for what is not accepted */
export function accepted(judged: Judgement, reading: Reading, packed = ''): Begun['judged'] {
  if (judged.result === 'refused') throw refused(reading, `${judged.looks}${packed}`);
  if (judged.result === 'open') throw refused(reading, `a file whose first two records never end${packed}`);
  return judged;
}

/**
 * Reads a CSV file, or what is published unjudged, to its end.
 * @returns also the CRC-32 of the content
 * @throws RunError `FileRejected` for CSV that is cut off
 */
export async function readStream(
  { judged, chunks }: { judged: Exclude<Begun['judged'], { result: 'zip' }>; chunks: AsyncIterable<Uint8Array> },
  reading: Reading,
): Promise<Content & { crc32: number }> {
  const csv = judged.result === 'csv' ? judged.csv : null;
  const pass = new CsvPass(NOTHING_SCANNED, csv);
  for await (const chunk of chunks) pass.push(chunk);
  const end = pass.end();
  const { crc32 } = pass.scan;
  if (judged.result === 'empty') return { ...NO_CONTENT, crc32 };
  if (judged.result === 'opaque') return { ...unjudged(judged.format, reading), crc32 };
  refuseCut(reading, judged.csv, pass.scan, end);
  return { ...csvContent(judged.csv, pass, end), crc32 };
}

export function csvContent(csv: NonNullable<Judgement extends infer J ? (J extends { csv: infer C } ? C : never) : never>, { scan }: CsvPass, end: ReturnType<CsvPass['end']>): Content {
  const known = csvFacts(csv, scan, end);
  return { empty: false, format: 'csv', ...known, remarks: csvRemarks(csv, scan, known) };
}

/** What the configuration publishes though nothing is known of it. */
export function unjudged(format: string, { undeclaredEnd, what }: Reading): Content {
  if (undeclaredEnd) throw doubtfulEnd(what, 'it is neither a CSV file nor a spreadsheet');
  const remark = `Nothing in the file was looked at: it is published as it came, for entities.ENTITY.opaque names ${format}.`;
  return { empty: false, format, dialect: null, header: null, content: null, remarks: [remark] };
}

/** The content of a stored file becomes what is known of the file. */
export function known(bytes: number, compression: string | null, { remarks, ...content }: Content): Known {
  return { facts: { bytes, compression, ...content }, remarks };
}
