import type { Scan } from '../states.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

export const NOTHING_SCANNED: Scan = {
  offset: 0,
  crc32: 0,
  records: 0,
  irregular: 0,
  width: 0,
  fields: 1,
  quoted: false,
  opens: true,
  blank: true,
};

/**
 * Counts the records of a CSV file, RFC 4180: a quoted field may hold commas, line breaks and doubled quotation marks.
 * Works on bytes (none of the four that matter occurs inside a longer UTF-8 character) and can stop and go on anywhere,
 * which no parser at hand can; a property test holds it against csv-parse. Empty lines are no records.
 */
export function scanCsv(scan: Scan, chunk: Uint8Array): void {
  for (let at = 0; at < chunk.length; at += 1) {
    const byte = chunk[at];
    if (byte === QUOTE) quote(scan);
    else if (!scan.quoted) plain(scan, byte);
  }
}

/**
 * A doubled quotation mark inside a quoted field looks like closing it and opening it again at once: what was opened may be
 * opened again right behind the closing mark, for nothing inside of it changes `opens`.
 */
function quote(scan: Scan): void {
  scan.quoted = !scan.quoted && scan.opens;
  scan.blank = false;
}

function plain(scan: Scan, byte: number | undefined): void {
  if (byte === LF) {
    if (!scan.blank) endRecord(scan);
  } else if (byte === COMMA) {
    scan.fields += 1;
    scan.opens = true;
    scan.blank = false;
  } else if (byte !== CR && !isByteOrderMark(scan, byte)) {
    scan.opens = false;
    scan.blank = false;
  }
}

function isByteOrderMark(scan: Scan, byte: number | undefined): boolean {
  return scan.blank && scan.records === 0 && (byte === 0xef || byte === 0xbb || byte === 0xbf);
}

/** Ends the last record, which need not end with a line break. */
export function endScan(scan: Scan): void {
  if (!scan.blank) endRecord(scan);
}

function endRecord(scan: Scan): void {
  scan.records += 1;
  if (scan.width === 0) scan.width = scan.fields;
  else if (scan.fields !== scan.width) scan.irregular += 1;
  scan.fields = 1;
  scan.opens = true;
  scan.blank = true;
}
