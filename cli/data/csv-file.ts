import { pipeline } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import { CsvError, type Options, parse } from 'csv-parse';
import type { Manifest } from '../../core/export/manifest.ts';
import { crc32Text } from '../../transfer/index.ts';
import type { Target } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { corruptText } from './download-file.ts';
import { failed } from './find.ts';
import { bytesFrom, type StoredFile, storedFile } from './object.ts';

type Place = Pick<Target, 's3' | 'BucketName'>;

/** Stops a file that opens a quotation mark and never closes it before it fills the memory. */
const LARGEST_RECORD = 16 * 1024 * 1024;

/** @throws CommandError (exit code 1) where the manifest says that its file is no CSV file */
export function refuseOtherThanCsv({ entity, date, file }: Pick<Manifest, 'entity' | 'date' | 'file'>): void {
  // Manifests of earlier releases do not name the format.
  if ((file.format ?? 'csv') === 'csv') return;
  throw failed(`The ${entity} of ${date} are ${file.format}, not CSV: download gets the file as it is.`);
}

/**
 * The records of a whole CSV file, its header first, one at a time; gzip is unpacked. What the manifest does not know of the
 * dialect is taken for UTF-8 and commas. Size and CRC-32 are proven by the last record.
 * @throws CommandError (exit code 1) where it is no CSV file, is malformed, or is not what its manifest says; the signal's reason
 */
export async function* csvRecords(place: Place, manifest: Manifest, signal?: AbortSignal): AsyncGenerator<string[]> {
  refuseOtherThanCsv(manifest);
  const stored = await storedFile(place, manifest, signal);
  const { file } = manifest;
  const parser = parse(parserOptions(file.dialect));
  const bytes = proven(place, manifest, stored, signal);
  const text = decoded(file.dialect?.encoding ?? 'utf-8');
  // The error arrives where the records are read.
  const done = () => undefined;
  if (file.compression === 'gzip') pipeline(bytes, createGunzip(), text, parser, done);
  else pipeline(bytes, text, parser, done);
  let index = file.dialect?.separatorLine ? -1 : 0;
  try {
    for await (const record of parser) {
      if (index === 0) refuseOtherWidth(manifest, record);
      if (index >= 0) yield record;
      index += 1;
    }
  } catch (error) {
    throw unreadable(manifest, error);
  }
}

/** What splits the header otherwise splits every row otherwise. @throws CommandError (exit code 1) */
function refuseOtherWidth({ file: { key, header } }: Manifest, { length }: string[]): void {
  if (header === null || header.length === length) return;
  throw failed(
    `The file ${key} begins with ${manyText(length, 'column')}, not the ${header.length} of its manifest: download gets it.`,
  );
}

function parserOptions(dialect: Manifest['file']['dialect']): Options {
  const breaks: Record<string, string[]> = { lf: ['\r\n', '\n'], crlf: ['\r\n', '\n'], cr: ['\r'] };
  return {
    delimiter: dialect?.separator ?? ',',
    record_delimiter: breaks[dialect?.lineBreak ?? ''] ?? ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: LARGEST_RECORD,
  };
}

async function* proven(place: Place, manifest: Manifest, stored: StoredFile, signal?: AbortSignal) {
  let crc = 0;
  for await (const chunk of bytesFrom(place, stored, 0, signal)) {
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (crc32Text(crc) !== manifest.file.crc32) throw failed(corruptText(manifest, crc));
}

/** Without the byte order mark. */
function decoded(encoding: string) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
    const decoder = new TextDecoder(encoding, { fatal: true });
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  };
}

/** Its sentence has nothing of the file: messages of csv-parse quote cells. */
function unreadable({ file }: Manifest, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const kept = 'download gets the file as it is.';
  if (error instanceof CsvError) {
    return failed(`The file ${file.key} is malformed CSV in line ${Number(error.lines)}: ${kept}`, error);
  }
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
    return failed(`The file ${file.key} has bytes that are not ${file.dialect?.encoding ?? 'utf-8'}: ${kept}`, error);
  }
  if (code.startsWith('Z_')) return failed(`The file ${file.key} is gzip that cannot be unpacked: ${kept}`, error);
  return error;
}
