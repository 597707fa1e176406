import { isUtf8 } from 'node:buffer';
import type { Content, Dialect } from '../gate/facts.ts';
import { isWide, textStart, Utf16Reader } from './encoding.ts';
import { decoded } from './later-headers.ts';
import { cellsOf, Scanner, type Separator, UnreadableCsv } from './scanner.ts';

/** How a CSV file is written; what is not known is taken for UTF-8 and commas. */
export interface CsvForm {
  dialect: Dialect | null;
  content: Pick<Content, 'rowsAbove' | 'broken'> | null;
}

/** Byte order marks and a line that names the separator end within so many bytes. */
const START_BYTES = 64;
const SEPARATOR_LINE = /^.*(?:\r\n|\n|\r)/;

/**
 * The records of a whole CSV file, its header first, one at a time. Titles above the header are left out.
 * @throws UnreadableCsv; what reading the bytes throws
 */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>, form: CsvForm): AsyncGenerator<string[]> {
  const reader = new RecordReader(form);
  const above = form.content?.rowsAbove ?? 0;
  let number = 0;
  for await (const chunk of behindStart(bytes, form)) {
    reader.push(chunk);
    for (const record of reader.take()) if (number++ >= above) yield record;
  }
  reader.end();
  for (const record of reader.take()) if (number++ >= above) yield record;
}

/** The text after its byte order marks, and after a line that names the separator. */
async function* behindStart(bytes: AsyncIterable<Uint8Array>, { dialect }: CsvForm): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | null = new Uint8Array();
  const rest = (read: Uint8Array) => {
    const { markBytes, text, encoding } = textStart(read);
    const [line = ''] = (dialect?.separatorLine && SEPARATOR_LINE.exec(text)) || [];
    return read.subarray(markBytes + line.length * (isWide(encoding) ? 2 : 1));
  };
  for await (const chunk of bytes) {
    start = start && Buffer.concat([start, chunk]);
    if (start && start.length < START_BYTES) continue;
    yield start ? rest(start) : chunk;
    start = null;
  }
  if (start) yield rest(start);
}

class RecordReader {
  readonly #scanner: Scanner;
  readonly #wide: Utf16Reader | null;
  #records: string[][] = [];

  constructor({ dialect, content }: CsvForm) {
    const encoding = dialect?.encoding ?? null;
    const separator = (dialect?.separator ?? ',') as Separator;
    const decoder = encoding === 'windows-1255' ? encoding : 'utf-8';
    this.#wide = isWide(encoding) ? new Utf16Reader(encoding) : null;
    const onRecord = (block: Buffer, from: number, to: number, _: number, quoted: number) => {
      const bytes = block.subarray(from, to);
      if (decoder === 'utf-8' && !content?.broken && !isUtf8(bytes))
        throw new UnreadableCsv(`has bytes that are not ${encoding ?? 'utf-8'}`);
      this.#records.push(cellsOf(decoded(bytes, decoder), separator, quoted > 0));
    };
    this.#scanner = new Scanner(separator, onRecord);
  }

  push(chunk: Uint8Array): void {
    this.#scanner.push(this.#wide ? this.#wide.read(chunk) : chunk);
  }

  end(): void {
    this.#scanner.end();
    if (this.#wide?.cut) throw new UnreadableCsv('ends in the middle of a character');
    if (this.#scanner.endsQuoted) throw new UnreadableCsv('ends inside quotation marks');
  }

  take(): string[][] {
    const records = this.#records;
    this.#records = [];
    return records;
  }
}
