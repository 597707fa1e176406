import { isAscii, isUtf8 } from 'node:buffer';
import type { Scan } from '../step/states.ts';
import type { Separator } from './csv-start.ts';
import { isHebrew, lookForHebrew, NO_SIGNS } from './hebrew.ts';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
/** Ends a text of DOS. */
const END_MARK = 0x1a;

/** The bits of `Scan.lineBreaks`. */
export const LINE_BREAKS = { lf: 1, crlf: 2, cr: 4 } as const;

export const NOTHING_SCANNED: Scan = {
  version: 3,
  etag: null,
  handedOn: 0,
  offset: 0,
  crc32: 0,
  records: 0,
  irregular: 0,
  width: 0,
  fields: 1,
  quoted: false,
  opens: true,
  blank: true,
  afterCr: false,
  afterEndMark: false,
  blankLines: 0,
  lineBreaks: 0,
  doubts: 0,
  zeros: false,
  encoding: 'utf-8',
  continuation: 0,
  ...NO_SIGNS,
};

/** The grammar of one CSV file. */
export interface CsvGrammar {
  separator: Separator;
  /** Records end with a carriage return alone. */
  breaksAtCr: boolean;
}

/** Bytes that are nothing but a part of their field; indexed by the separator. */
const PLAIN = new Map([...',;\t'].map((separator) => [separator, plainBytes(separator.charCodeAt(0))]));

function plainBytes(separator: number): Uint8Array {
  return new Uint8Array(256).map((_, byte) => ([QUOTE, LF, CR, END_MARK, separator].includes(byte) ? 0 : 1));
}

/**
 * Counts the records of a CSV file, RFC 4180: a quoted field may hold separators, line breaks and doubled quotation marks.
 * Works on bytes (none of those that matter occurs inside a longer UTF-8 character) and can stop and go on anywhere, which
 * no parser at hand can; a property test holds it against csv-parse. Empty lines are no records. What readers of CSV take
 * differently is counted as a doubt, and then nobody should be told a number of records.
 */
export function scanCsv(scan: Scan, chunk: Uint8Array, { separator, breaksAtCr }: CsvGrammar): void {
  const plain = PLAIN.get(separator) ?? new Uint8Array(256);
  for (let at = 0; at < chunk.length; ) {
    at = scan.quoted ? quotedPart(scan, chunk, at) : otherPart(scan, chunk, at, plain, breaksAtCr);
  }
}

/** Goes behind the end of a quoted part. */
function quotedPart(scan: Scan, chunk: Uint8Array, at: number): number {
  const mark = chunk.indexOf(QUOTE, at);
  if (mark === -1) return chunk.length;
  scan.quoted = false;
  return mark + 1;
}

/** Goes behind what means nothing by itself, or one byte that does. */
function otherPart(scan: Scan, chunk: Uint8Array, at: number, plain: Uint8Array, breaksAtCr: boolean): number {
  if (scan.afterCr && chunk[at] === LF) {
    behindCr(scan, breaksAtCr);
    return at + 1;
  }
  if (scan.afterCr || scan.afterEndMark) stoodAlone(scan, chunk[at], breaksAtCr);
  let end = at;
  while (end < chunk.length && plain[chunk[end] ?? 0] === 1) end += 1;
  if (end === at) {
    special(scan, chunk[at], breaksAtCr);
    return at + 1;
  }
  scan.opens = false;
  scan.blank = false;
  return end;
}

/** A line feed behind a carriage return. */
function behindCr(scan: Scan, breaksAtCr: boolean): void {
  scan.afterCr = false;
  // Where a carriage return alone ends a record, it has done so already; why one is followed by this, nobody knows.
  if (breaksAtCr) scan.doubts += 1;
  else endLine(scan, LINE_BREAKS.crlf);
}

/** What came before was no half of a line break, or not the end of the text. */
function stoodAlone(scan: Scan, byte: number | undefined, breaksAtCr: boolean): void {
  if (scan.afterCr && !breaksAtCr) scan.doubts += 1;
  scan.afterCr = false;
  if (scan.afterEndMark && byte !== END_MARK && byte !== CR && byte !== LF) {
    scan.doubts += 1;
    scan.afterEndMark = false;
  }
}

/**
 * A doubled quotation mark inside a quoted field looks like closing it and opening it again at once: what was opened may be
 * opened again right behind the closing mark, for nothing inside of it changes `opens`.
 */
function special(scan: Scan, byte: number | undefined, breaksAtCr: boolean): void {
  if (byte === QUOTE) {
    scan.quoted = scan.opens;
    scan.blank = false;
  } else if (byte === LF) {
    if (breaksAtCr) scan.doubts += 1;
    endLine(scan, LINE_BREAKS.lf);
  } else if (byte === CR) {
    scan.afterCr = true;
    if (breaksAtCr) endLine(scan, LINE_BREAKS.cr);
  } else if (byte === END_MARK) {
    if (scan.blank) scan.afterEndMark = true;
    else scan.opens = false;
  } else {
    scan.fields += 1;
    scan.opens = true;
    scan.blank = false;
  }
}

function endLine(scan: Scan, lineBreak: number): void {
  if (!scan.blank) {
    scan.lineBreaks |= lineBreak;
    endRecord(scan);
  } else if (scan.records > 0) {
    scan.blankLines += 1;
  }
}

/** Ends the last record, which need not end with a line break. */
export function endScan(scan: Scan): void {
  if (!scan.blank) endRecord(scan);
  if (scan.continuation > 0) scan.encoding = 'unknown';
  if (scan.encoding === 'unknown' && isHebrew(scan)) scan.encoding = 'windows-1255';
}

function endRecord(scan: Scan): void {
  scan.records += 1;
  if (scan.width === 0) scan.width = scan.fields;
  else if (scan.fields !== scan.width) scan.irregular += 1;
  scan.fields = 1;
  scan.opens = true;
  scan.blank = true;
}

/**
 * Sees whether a text is UTF-8 to its end, and whether it may be Hebrew in windows-1255 from its beginning on. Of a character that stands in two pieces, only the number of bytes to come is
 * carried over: no byte of the file is in a state.
 */
export function scanEncoding(scan: Scan, chunk: Uint8Array): void {
  if (!scan.zeros && chunk.includes(0)) scan.zeros = true;
  // Of ASCII, the last byte alone means something for what comes behind it.
  lookForHebrew(scan, isAscii(chunk) ? chunk.subarray(-1) : chunk);
  if (scan.encoding !== 'utf-8') return;
  let from = 0;
  for (; scan.continuation > 0 && from < chunk.length && isContinuation(chunk[from]); from += 1) scan.continuation -= 1;
  const broken = scan.continuation > 0 && from < chunk.length;
  const whole = chunk.subarray(from, chunk.length - unfinished(scan, chunk, from));
  if (broken || !isUtf8(whole)) {
    scan.encoding = 'unknown';
    scan.continuation = 0;
  }
}

/** Bytes at the end of a piece that begin a character; how many more belong to it is put down. */
function unfinished(scan: Scan, chunk: Uint8Array, from: number): number {
  let bytes = 1;
  while (bytes < 4 && isContinuation(chunk[chunk.length - bytes])) bytes += 1;
  const length = chunk.length - bytes < from ? 0 : characterLength(chunk[chunk.length - bytes]);
  if (length <= bytes) return 0;
  scan.continuation = length - bytes;
  return bytes;
}

/** Bytes of the UTF-8 character that begins with this one. */
function characterLength(byte = 0): number {
  if (byte < 0xc2 || byte > 0xf4) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The code units of UTF-16 as bytes, for `scanCsv`: every character that is not ASCII is one that means nothing to it. */
export function narrowed(chunk: Uint8Array, encoding: 'utf-16le' | 'utf-16be'): Uint8Array {
  const high = encoding === 'utf-16le' ? 1 : 0;
  const narrow = new Uint8Array(chunk.length >> 1);
  for (let unit = 0; unit < narrow.length; unit += 1) {
    const low = chunk[2 * unit + 1 - high] ?? 0;
    narrow[unit] = chunk[2 * unit + high] === 0 && low < 0x80 ? low : 0x80;
  }
  return narrow;
}
