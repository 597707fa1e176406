import { Readable } from 'node:stream';
import yauzl, { type Entry, type LocalFileHeader, type ZipFile } from 'yauzl';
import { RunError } from '../errors.ts';
import type { ByteSource } from '../files/byte-source.ts';
import { remembering } from './remembering.ts';

/** The message says in words what is wrong with an archive, without anything of its content. */
export class ZipFault extends Error {
  override readonly name = 'ZipFault';
}

/** A zip archive that is open, and what its directory names. */
export interface ZipDirectory {
  zip: ZipFile;
  entries: Entry[];
  /** Of the archive. */
  bytes: number;
}

/** No spreadsheet has as many. */
const MOST_ENTRIES = 10_000;

class SourceReader extends yauzl.RandomAccessReader {
  readonly #source: ByteSource;

  constructor(source: ByteSource) {
    super();
    this.#source = source;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#source.read(start, end), { objectMode: false });
  }
}

/** @throws ZipFault where there is no directory, or no end of it; what reading the bytes throws */
export async function zipDirectory(source: ByteSource): Promise<ZipDirectory> {
  const reader = new SourceReader(remembering(source));
  const options = { lazyEntries: true, autoClose: false };
  const zip = await called<ZipFile>((done) => yauzl.fromRandomAccessReader(reader, source.size, options, done));
  return { zip, entries: await entriesOf(zip), bytes: source.size };
}

async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > MOST_ENTRIES) throw new ZipFault('of too many files');
  const entries: Entry[] = [];
  await called<void>((done) => {
    zip.on('entry', (entry: Entry) => {
      entries.push(entry);
      zip.readEntry();
    });
    zip.on('end', () => done(null));
    zip.on('error', done);
    zip.readEntry();
  });
  return entries;
}

export function localHeader({ zip }: ZipDirectory, entry: Entry): Promise<LocalFileHeader> {
  return called((done) => zip.readLocalFileHeader(entry, done));
}

/** The bytes of an entry, unpacked: as many as the directory says, or it throws. Their CRC-32 is not verified. */
export async function* contentOf({ zip }: ZipDirectory, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await called<Readable>((done) => zip.openReadStream(entry, done));
  try {
    for await (const chunk of stream) yield chunk;
  } catch (error) {
    throw faultOf(error);
  } finally {
    stream.destroy();
  }
}

type Done<T> = (error: Error | null, value: T) => void;

/** What yauzl calls back with. */
async function called<T>(call: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  try {
    return await new Promise<T>((resolve, reject) => {
      const done: Done<T> = (error, value) => (error ? reject(error) : resolve(value));
      call(done as (error: Error | null, value?: T) => void);
    });
  } catch (error) {
    throw faultOf(error);
  }
}

/** Trouble of the bucket stays what it is; messages of yauzl may quote the archive. */
function faultOf(error: unknown): unknown {
  return error instanceof RunError ? error : new ZipFault('that is cut off or damaged');
}
