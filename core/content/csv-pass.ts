import { crc32 } from 'node:zlib';
import { endScan, scanCsv } from '../files/csv-scan.ts';
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

/**
 * Reads a file piece by piece: its CRC-32, and where it is CSV its records and encoding. `scan` is the place, from which another
 * pass may go on.
 */
export class CsvPass {
  readonly scan: Scan;
  readonly #csv: Csv | null;
  // Half of a character waits for its other half, or is read again by the next pass.
  #half: Uint8Array = new Uint8Array();

  /** @param csv `null` where no records are counted */
  constructor(scan: Scan, csv: Csv | null) {
    this.scan = { ...scan };
    this.#csv = csv;
  }

  /** Bytes that were given, or read before. */
  get seen(): number {
    return this.scan.offset + this.#half.length;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#half.length > 0 ? Buffer.concat([this.#half, chunk]) : chunk;
    const even = isWide(this.#csv?.encoding ?? null) ? bytes.length - (bytes.length % 2) : bytes.length;
    this.#half = bytes.slice(even);
    this.#advance(bytes.subarray(0, even), this.#csv);
  }

  end(): CsvEnd {
    const { scan } = this;
    const cut = this.#half.length > 0;
    this.#advance(this.#half, null);
    const lineBreak = this.#csv !== null && scan.blank && scan.records > 0;
    const { quoted } = scan;
    endScan(scan, this.#csv ?? { breaksAtCr: false });
    endEncoding(scan);
    return { lineBreak, cut, quoted };
  }

  #advance(bytes: Uint8Array, csv: Csv | null): void {
    const { scan } = this;
    const skipped = csv ? Math.max(0, csv.skip - scan.offset) : 0;
    scan.offset += bytes.byteLength;
    scan.crc32 = crc32(bytes, scan.crc32);
    if (!csv) return;
    const { encoding, names, ...grammar } = csv;
    const text = isWide(encoding) ? narrowed(bytes, encoding) : bytes;
    scanEncoding(scan, text);
    const from = isWide(encoding) ? skipped / 2 : skipped;
    scanCsv(scan, text.subarray(from), { ...grammar, unnamed: names?.unnamed ?? [] });
  }
}
