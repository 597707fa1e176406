import type { Scan } from '../step/scan.ts';
import { type FirstRecord, repeatBytes, repeatEmptyQuotes, repeatSeparator } from './csv-repeats.ts';
import { endTwin, fork, twinStep, twinText } from './csv-twin.ts';
import { readCsv } from './kernel/kernel.ts';

export type Separator = ',' | ';' | '\t';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
/** The character that ends a text of DOS. */
const END_MARK = 0x1a;

/** The bits of `Scan.lineBreaks`. */
export const LINE_BREAKS = { lf: 1, crlf: 2, cr: 4 } as const;

/** The grammar of one CSV file. */
export interface CsvGrammar {
  separator: Separator;
  /** Records end with a carriage return alone. */
  breaksAtCr: boolean;
  /** Records that repeat it are counted. */
  first?: FirstRecord | null;
  /** Places of columns of which it is noted whether a record behind the first has a value there. */
  unnamed?: readonly number[];
}

/**
 * Counts the records of a CSV file (RFC 4180). Works on bytes and can stop and resume anywhere, which no parser at hand
 * can; a property test compares it with csv-parse. Empty lines are no records. What readers of CSV interpret
 * differently is counted as a doubt, and in the other reading, too (`csv-twin.ts`).
 */
export function scanCsv(scan: Scan, chunk: Uint8Array, grammar: CsvGrammar): void {
  const byStates = (part: Uint8Array) => scanByStates(scan, part, grammar);
  if (grammar.breaksAtCr || grammar.unnamed?.length) byStates(chunk);
  else readCsv(scan, chunk, grammar.separator.charCodeAt(0), grammar.first?.begins ?? null, byStates);
}

/** Bytes without a meaning in the grammar, by the separator. */
const PLAIN = { ',': plainBytes(','), ';': plainBytes(';'), '\t': plainBytes('\t') };

function plainBytes(separator: Separator): Uint8Array {
  const plain = new Uint8Array(256).fill(1);
  for (const byte of [QUOTE, LF, CR, END_MARK, separator.charCodeAt(0)]) plain[byte] = 0;
  return plain;
}

/** Does what `scanCsv` does, byte by byte. */
export function scanByStates(scan: Scan, chunk: Uint8Array, grammar: CsvGrammar): void {
  for (let at = 0; at < chunk.length; ) {
    if (scan.forked && isPlainForBoth(scan, PLAIN[grammar.separator][chunk[at] ?? 0])) {
      at = part(scan, chunk, at, grammar);
      twinText(scan);
    } else if (scan.forked) {
      part(scan, chunk.subarray(at, at + 1), 0, grammar);
      twinStep(scan, chunk[at] ?? 0, grammar.separator.charCodeAt(0), grammar.breaksAtCr);
      at += 1;
    } else at = part(scan, chunk, at, grammar);
  }
}

/** Tells whether both readings of a file take text alike: then it is read once, up to the next byte with a meaning. */
function isPlainForBoth(scan: Scan, plain = 0): boolean {
  const pending = scan.afterCr || scan.afterEndMark || scan.twinAfterCr;
  return plain === 1 && !pending && !scan.quoted && !scan.twinQuoted;
}

/** Reads from a place on; returns how far. */
function part(scan: Scan, chunk: Uint8Array, at: number, grammar: CsvGrammar): number {
  return scan.quoted ? quotedPart(scan, chunk, at, grammar) : otherPart(scan, chunk, at, grammar);
}

/** Goes to the byte behind the end of a quoted part. */
function quotedPart(scan: Scan, chunk: Uint8Array, at: number, grammar: CsvGrammar): number {
  const mark = chunk.indexOf(QUOTE, at);
  const end = mark === -1 ? chunk.length : mark;
  if (end > at) fill(scan, chunk, at, end, grammar);
  if (mark === -1) return end;
  scan.quoted = false;
  scan.closed = true;
  if (scan.repeats === 0) repeatEmptyQuotes(scan, grammar.first);
  return mark + 1;
}

/** Goes behind bytes without a meaning, or one byte with one. */
function otherPart(scan: Scan, chunk: Uint8Array, at: number, grammar: CsvGrammar): number {
  if (scan.afterCr && chunk[at] === LF) {
    behindCr(scan, grammar);
    return at + 1;
  }
  if (scan.afterCr || scan.afterEndMark) {
    const forked = scan.forked;
    stoodAlone(scan, chunk[at], grammar.breaksAtCr);
    if (scan.forked !== forked) return at;
  }
  const plain = PLAIN[grammar.separator];
  let end = at;
  while (end < chunk.length && plain[chunk[end] ?? 0] === 1) end += 1;
  if (end === at) {
    special(scan, chunk, at, grammar);
    return at + 1;
  }
  if (scan.closed) strayClosing(scan);
  fill(scan, chunk, at, end, grammar);
  scan.opens = false;
  scan.blank = false;
  return end;
}

/** The bytes from `at` to `end` are characters of the current field. */
function fill(scan: Scan, chunk: Uint8Array, at: number, end: number, { first, unnamed }: CsvGrammar): void {
  scan.filled = true;
  if (scan.repeats >= 0) repeatBytes(scan, chunk, at, end, first);
  if (!unnamed?.includes(scan.fields - 1) || scan.records === 0) return;
  const valued = scan.valued.split('-');
  if (valued.includes(String(scan.fields - 1))) return;
  scan.valued = scan.valued === '' ? String(scan.fields - 1) : `${scan.valued}-${scan.fields - 1}`;
}

/** Text follows a closing mark. */
function strayClosing(scan: Scan): void {
  scan.closed = false;
  scan.strayQuotes += 1;
  scan.repeats = -1;
}

function behindCr(scan: Scan, grammar: CsvGrammar): void {
  scan.afterCr = false;
  // Where a carriage return alone ends a record, a line feed behind one is a doubt.
  if (grammar.breaksAtCr) {
    scan.doubts += 1;
    fork(scan, { opens: false, blank: false });
  } else endLine(scan, LINE_BREAKS.crlf, grammar);
}

/** The carriage return or end mark before was not a part of a line break, or of the end of the text. */
function stoodAlone(scan: Scan, byte: number | undefined, breaksAtCr: boolean): void {
  if (scan.afterCr && !breaksAtCr) {
    scan.doubts += 1;
    if (!scan.forked && !scan.blank) scan.extra += 1;
    fork(scan, { opens: true, blank: true, fields: 1 });
    // This reading takes the byte as a character of a field.
    Object.assign(scan, { opens: false, blank: false, filled: true, repeats: -1 });
  }
  scan.afterCr = false;
  if (scan.afterEndMark && byte !== END_MARK && byte !== CR && byte !== LF) {
    scan.doubts += 1;
    scan.afterEndMark = false;
    if (scan.markedAt < 0) scan.markedAt = scan.records;
  }
}

/**
 * A doubled quotation mark looks like closing and reopening: a field may be reopened right behind the closing mark, for
 * nothing inside it changes `opens`.
 */
function special(scan: Scan, chunk: Uint8Array, at: number, grammar: CsvGrammar): void {
  const byte = chunk[at];
  if (byte === QUOTE) quotationMark(scan, chunk, at, grammar);
  scan.closed = false;
  if (byte === QUOTE) return;
  if (byte === LF) {
    if (grammar.breaksAtCr) {
      scan.doubts += 1;
      fork(scan, { opens: false, blank: false });
    }
    endLine(scan, LINE_BREAKS.lf, grammar);
  } else if (byte === CR) {
    scan.afterCr = true;
    if (grammar.breaksAtCr) endLine(scan, LINE_BREAKS.cr, grammar);
  } else if (byte === END_MARK) {
    endMark(scan, chunk, at, grammar);
  } else {
    scan.fields += 1;
    scan.opens = true;
    scan.blank = false;
    repeatSeparator(scan, grammar.first);
  }
}

function quotationMark(scan: Scan, chunk: Uint8Array, at: number, grammar: CsvGrammar): void {
  if (!scan.opens) scan.strayQuotes += 1;
  if (!scan.opens || scan.closed) fill(scan, chunk, at, at + 1, grammar);
  else if (!grammar.first) scan.repeats = -1;
  scan.quoted = scan.opens;
  scan.blank = false;
}

function endMark(scan: Scan, chunk: Uint8Array, at: number, grammar: CsvGrammar): void {
  scan.opens = false;
  if (scan.blank) {
    scan.afterEndMark = true;
    scan.endMarks += 1;
  } else fill(scan, chunk, at, at + 1, grammar);
}

function endLine(scan: Scan, lineBreak: number, { first }: CsvGrammar): void {
  if (!scan.blank) {
    scan.lineBreaks |= lineBreak;
    endRecord(scan, first);
  } else if (scan.records > 0) {
    scan.blankLines += 1;
  }
  scan.opens = true;
}

/** Ends the last record, with or without a line break. */
export function endScan(scan: Scan, { first, breaksAtCr }: Omit<CsvGrammar, 'separator'>): void {
  // A CR at the end of a record may be half of a line break.
  if (scan.afterCr && scan.blank && !breaksAtCr) stoodAlone(scan, undefined, breaksAtCr);
  endTwin(scan);
  if (!scan.blank) endRecord(scan, first);
}

function endRecord(scan: Scan, first: CsvGrammar['first']): void {
  if (first && scan.records > 0 && scan.repeats === first.symbols.length) scan.repeatedHeaders += 1;
  scan.records += 1;
  if (scan.forked) scan.extra -= 1;
  if (scan.width === 0) scan.width = scan.fields;
  else if (scan.fields !== scan.width) scan.irregular += 1;
  if (scan.fields > scan.width) scan.longer += 1;
  if (!scan.filled) scan.emptyRows += 1;
  scan.repeats = 0;
  scan.last = scan.fields;
  scan.fields = 1;
  scan.opens = true;
  scan.blank = true;
  scan.filled = false;
}
