import { crc32 } from 'node:zlib';
import { type CsvGrammar, endScan, scanCsv } from '../files/csv-scan.ts';
import type { Csv } from '../files/judge-file.ts';
import { isWide, narrowed } from '../files/kernel/kernel.ts';
import { endEncoding, scanEncoding } from '../files/scan-encoding.ts';
import type { Scan } from '../step/scan.ts';

/** How a CSV file ends. */
export interface CsvEnd {
  /** A line break follows the last record. */
  lineBreak: boolean;
  /** The file ends in the middle of a character. */
  cut: boolean;
  /** It ends inside of quotation marks. */
  quoted: boolean;
}

const NOTHING: Uint8Array = new Uint8Array();

/**
 * Reads a file piece by piece: its CRC-32, and where it is CSV its records and encoding. `scan` is the place, from which another
 * pass may go on.
 */
export class CsvPass {
  readonly scan: Scan;
  readonly #csv: Csv | null;
  readonly #grammar: CsvGrammar | null;
  // Half of a character waits for its other half, or is read again by the next pass.
  #half = NOTHING;

  /** @param csv `null` where no records are counted */
  constructor(scan: Scan, csv: Csv | null) {
    this.scan = { ...scan };
    this.#csv = csv;
    this.#grammar = csv && { ...csv, unnamed: csv.names?.unnamed ?? [] };
  }

  /** Bytes that were given, or read before. */
  get seen(): number {
    return this.scan.offset + this.#half.length;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#half.length > 0 ? Buffer.concat([this.#half, chunk]) : chunk;
    const even = isWide(this.#csv?.encoding ?? null) ? bytes.length - (bytes.length % 2) : bytes.length;
    this.#half = even === bytes.length ? NOTHING : bytes.slice(even);
    this.#advance(even === bytes.length ? bytes : bytes.subarray(0, even));
  }

  end(): CsvEnd {
    const { scan } = this;
    const cut = this.#half.length > 0;
    this.#count(this.#half);
    const lineBreak = this.#csv !== null && scan.blank && scan.records > 0;
    const { quoted } = scan;
    endScan(scan, this.#csv ?? { breaksAtCr: false });
    endEncoding(scan);
    return { lineBreak, cut, quoted };
  }

  #advance(bytes: Uint8Array): void {
    const { scan } = this;
    const csv = this.#csv;
    const grammar = this.#grammar;
    const skipped = csv ? Math.max(0, csv.skip - scan.offset) : 0;
    this.#count(bytes);
    if (!csv || !grammar) return;
    const { encoding } = csv;
    const text = isWide(encoding) ? narrowed(bytes, encoding) : bytes;
    scanEncoding(scan, text);
    scanCsv(scan, skipped === 0 ? text : text.subarray(isWide(encoding) ? skipped / 2 : skipped), grammar);
  }

  #count(bytes: Uint8Array): void {
    this.scan.offset += bytes.byteLength;
    this.scan.crc32 = crc32(bytes, this.scan.crc32);
  }
}
