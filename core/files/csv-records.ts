import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CsvError, type Options, parse } from 'csv-parse';

/** How a CSV file is written; what is not known is taken for UTF-8 and commas. */
export interface CsvForm {
  compression: string | null;
  dialect: {
    encoding: string | null;
    separator: string | null;
    separatorLine: boolean;
    lineBreak: string | null;
  } | null;
}

/** The message says of a file why its records cannot be read, without anything of its content. */
export class UnreadableCsv extends Error {
  override readonly name = 'UnreadableCsv';
}

/** Stops a file that opens a quotation mark and never closes it before it fills the memory. */
const LARGEST_RECORD_MB = 16;

/**
 * The records of a whole CSV file, its header first, one at a time; gzip is unpacked.
 * @throws UnreadableCsv; what reading the bytes throws
 */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>, form: CsvForm): AsyncGenerator<string[]> {
  const parser = parse(parserOptions(form.dialect));
  const text = decoded(encodingOf(form));
  // The error arrives where the records are read.
  const done = () => undefined;
  if (form.compression === 'gzip') pipeline(bytes, createGunzip(), text, parser, done);
  else pipeline(bytes, text, parser, done);
  let skip = form.dialect?.separatorLine ? 1 : 0;
  try {
    for await (const record of parser) {
      if (skip > 0) skip -= 1;
      else if (!isEndMark(record)) yield record;
    }
  } catch (error) {
    throw unreadable(form, error);
  }
}

/** What ended a text of DOS; it is no record (`csv-scan.ts`). */
function isEndMark([first = '', ...others]: string[]): boolean {
  return others.length === 0 && first[0] === '\x1a' && first.replaceAll('\x1a', '') === '';
}

function parserOptions(dialect: CsvForm['dialect']): Options {
  const breaks: Record<string, string[]> = { lf: ['\r\n', '\n'], crlf: ['\r\n', '\n'], cr: ['\r'] };
  return {
    delimiter: dialect?.separator ?? ',',
    record_delimiter: breaks[dialect?.lineBreak ?? ''] ?? ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: LARGEST_RECORD_MB * 1024 * 1024,
  };
}

function encodingOf({ dialect }: CsvForm): string {
  return dialect?.encoding ?? 'utf-8';
}

/** Decodes the chunks, and removes the byte order mark. */
function decoded(encoding: string) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
    const decoder = new TextDecoder(encoding, { fatal: true });
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  };
}

/** The error has no cause, because messages of csv-parse quote cells. */
function unreadable(form: CsvForm, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (error instanceof CsvError && error.code === 'CSV_MAX_RECORD_SIZE') {
    return new UnreadableCsv(`has a record of more than ${LARGEST_RECORD_MB} MiB in line ${Number(error.lines)}`);
  }
  if (error instanceof CsvError) return new UnreadableCsv(`is malformed CSV in line ${Number(error.lines)}`);
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return new UnreadableCsv(`has bytes that are not ${encodingOf(form)}`);
  return code.startsWith('Z_') ? new UnreadableCsv('is gzip that cannot be unpacked') : error;
}
