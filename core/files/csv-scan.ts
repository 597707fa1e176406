import { isAscii, isUtf8 } from 'node:buffer';
import type { Scan } from '../step/states.ts';
import { isHebrew, lookForHebrew } from './hebrew.ts';
import { readCsv } from './kernel/kernel.ts';

export type Separator = ',' | ';' | '\t';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
/** Ends a text of DOS. */
const END_MARK = 0x1a;

/** The bits of `Scan.lineBreaks`. */
export const LINE_BREAKS = { lf: 1, crlf: 2, cr: 4 } as const;

/** The grammar of one CSV file. */
export interface CsvGrammar {
  separator: Separator;
  /** Records end with a carriage return alone. */
  breaksAtCr: boolean;
}

/** A record, as far as it was seen. */
export interface SeenRecord {
  cells: string[];
  /** Without its line break. */
  text: string;
  /** What ends it; '' = it goes on, or is the last one. */
  lineBreak: string;
}

/** The records of a text, by the same grammar as `scanCsv`. Behind the last line break comes one more, perhaps empty. */
export function* csvRecordsIn(text: string, separators: string): Generator<SeenRecord> {
  // Quoted parts, where a doubled quotation mark closes one and opens the next; the rest; the end of the field.
  const ends = `([${separators}]|\\r\\n|\\n|\\r|$)`;
  const field = new RegExp(`((?:"[^"]*(?:"|$))*)([^${separators}\\r\\n]*)${ends}`, 'g');
  let [cells, start]: [string[], number] = [[], 0];
  for (const { index, 0: whole, 1: quoted = '', 2: rest = '', 3: end = '' } of text.matchAll(field)) {
    const parts = quoted.split('"').filter((_, place) => place % 2 === 1);
    cells.push(parts.join('"') + rest);
    if (end !== '' && separators.includes(end)) continue;
    const next = index + whole.length;
    // Whether a carriage return at the end of what is seen is alone is not known.
    const cut = end === '\r' && next === text.length;
    yield { cells, text: text.slice(start, next - end.length), lineBreak: cut ? '' : end };
    [cells, start] = [[], next];
  }
}

/**
 * Counts the records of a CSV file (RFC 4180). Works on bytes and can stop and resume anywhere, which no parser at hand
 * can; a property test compares it with csv-parse. Empty lines are no records. What readers of CSV interpret
 * differently is counted as a doubt; then no number of records is given.
 */
export function scanCsv(scan: Scan, chunk: Uint8Array, grammar: CsvGrammar): void {
  const byStates = (part: Uint8Array) => scanByStates(scan, part, grammar);
  if (grammar.breaksAtCr) byStates(chunk);
  else readCsv(scan, chunk, grammar.separator.charCodeAt(0), byStates);
}

/** Bytes without a meaning in the grammar, by the separator. */
const PLAIN = { ',': plainBytes(','), ';': plainBytes(';'), '\t': plainBytes('\t') };

function plainBytes(separator: Separator): Uint8Array {
  const plain = new Uint8Array(256).fill(1);
  for (const byte of [QUOTE, LF, CR, END_MARK, separator.charCodeAt(0)]) plain[byte] = 0;
  return plain;
}

/** `scanCsv` byte by byte. */
export function scanByStates(scan: Scan, chunk: Uint8Array, { separator, breaksAtCr }: CsvGrammar): void {
  const plain = PLAIN[separator];
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

/** Goes behind bytes without a meaning, or one byte with one. */
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

function behindCr(scan: Scan, breaksAtCr: boolean): void {
  scan.afterCr = false;
  // Where a carriage return alone ends a record, a line feed behind one is a doubt.
  if (breaksAtCr) scan.doubts += 1;
  else endLine(scan, LINE_BREAKS.crlf);
}

/** The carriage return or end mark before was not a part of a line break, or of the end of the text. */
function stoodAlone(scan: Scan, byte: number | undefined, breaksAtCr: boolean): void {
  if (scan.afterCr && !breaksAtCr) scan.doubts += 1;
  scan.afterCr = false;
  if (scan.afterEndMark && byte !== END_MARK && byte !== CR && byte !== LF) {
    scan.doubts += 1;
    scan.afterEndMark = false;
  }
}

/**
 * A doubled quotation mark looks like closing and reopening: a field may be reopened right behind the closing mark, for
 * nothing inside it changes `opens`.
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

/** Ends the last record, with or without a line break. */
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

/** Whether a text is UTF-8, or may be Hebrew in windows-1255. Keeps the number of bytes that a cut character lacks. */
export function scanEncoding(scan: Scan, chunk: Uint8Array): void {
  if (!scan.zeros && chunk.includes(0)) scan.zeros = true;
  // Of ASCII, only the last byte matters for what follows.
  lookForHebrew(scan, isAscii(chunk) ? chunk.subarray(-1) : chunk);
  if (scan.encoding !== 'utf-8' || chunk.length === 0) return;
  const forbidden = scan.lead > 0 && !mayBegin(Uint8Array.of(scan.lead, chunk[0] ?? 0));
  scan.lead = 0;
  let from = 0;
  for (; scan.continuation > 0 && from < chunk.length && isContinuation(chunk[from]); from += 1) scan.continuation -= 1;
  const broken = forbidden || (scan.continuation > 0 && from < chunk.length);
  const end = chunk.length - unfinished(scan, chunk, from);
  if (broken || !isUtf8(chunk.subarray(from, end)) || !mayBegin(chunk.subarray(end))) {
    Object.assign(scan, { encoding: 'unknown', continuation: 0, lead: 0 });
  }
}

/** Whether a character of UTF-8 may begin with these bytes. */
function mayBegin(bytes: Uint8Array): boolean {
  const missing = characterLength(bytes[0]) - bytes.length;
  return bytes.length < 2 || isUtf8(Uint8Array.from([...bytes, ...Array(missing).fill(0x80)]));
}

/** Leads after which UTF-8 forbids some continuation bytes. */
const STRICT_LEADS = new Set([0xe0, 0xed, 0xf0, 0xf4]);

/** Bytes at the end of a piece that begin a character; notes what is missing. */
function unfinished(scan: Scan, chunk: Uint8Array, from: number): number {
  let bytes = 1;
  while (bytes < 4 && isContinuation(chunk[chunk.length - bytes])) bytes += 1;
  const length = chunk.length - bytes < from ? 0 : characterLength(chunk[chunk.length - bytes]);
  if (length <= bytes) return 0;
  scan.continuation = length - bytes;
  const lead = chunk[chunk.length - bytes] ?? 0;
  scan.lead = bytes === 1 && STRICT_LEADS.has(lead) ? lead : 0;
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
