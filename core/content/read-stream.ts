import { doubtfulEnd, readCsv } from '../file/csv.ts';
import { type Judgement, judgeFile } from '../files/judge-file.ts';
import type { Facts } from '../gate/facts.ts';
import { type Reading, refused } from './reading.ts';

/** The first two records lie within so many bytes, or the file is not the requested one. */
const START_BYTES = 1024 * 1024;

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
  const { chunks, begun } = await startOf(source, reading, packed);
  return { judged: await begun(), chunks };
}

/** Reads the beginning of a stream; `begun` judges it, and closes the stream where it throws. */
export async function startOf(source: AsyncIterable<Uint8Array>, reading: Reading, packed = '') {
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
  const read = Buffer.concat(first);
  const start = read.subarray(0, START_BYTES);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield read;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  const begun = async (): Promise<Begun['judged']> => {
    try {
      return accepted(judgeFile(start, done && bytes <= START_BYTES, reading.expected), reading, packed);
    } catch (error) {
      await rest.return?.();
      throw error;
    }
  };
  return { start, chunks: chunks(), begun };
}

/** @throws RunError `FileRejected` for what is not accepted */
function accepted(judged: Judgement, reading: Reading, packed = ''): Begun['judged'] {
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
  if (judged.result === 'csv') return { empty: false, format: 'csv', ...(await readCsv(chunks, judged.csv, reading)) };
  for await (const _ of chunks);
  return judged.result === 'empty' ? NO_CONTENT : unjudged(judged.format, reading);
}

/** What the configuration publishes though nothing is known of it. */
export function unjudged(format: string, { undeclaredEnd, what }: Reading): Content {
  if (undeclaredEnd) throw doubtfulEnd(what, 'it is neither a CSV file nor a spreadsheet');
  const remark = `Nothing in the file was looked at: it is published as it came, for the setting opaque names ${format}.`;
  return { empty: false, format, dialect: null, header: null, content: null, remarks: [remark] };
}
