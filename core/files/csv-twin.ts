import type { Scan } from '../step/scan.ts';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

/**
 * The other reading of doubtful line breaks. Where records end with line feeds, it ends one at a carriage return alone, too (Python
 * does); where they end with carriage returns alone, a line feed is a character of a field in it (csv-parse). A quotation mark
 * behind such a byte may open in one reading only, so a second state is kept from the doubt on, until both are the same again.
 * `Scan.extra` is how many records more the other reading has.
 */

/** Begins with the doubtful byte read otherwise; where both readings differ already, `twinStep` reads it. */
export function fork(scan: Scan, twin: { opens: boolean; blank: boolean; fields?: number }): void {
  if (scan.forked) return;
  const { opens, blank, fields = scan.fields } = twin;
  const state = { twinQuoted: false, twinOpens: opens, twinBlank: blank, twinAfterCr: false, twinFields: fields };
  Object.assign(scan, { forked: true, ...state });
}

/** Reads one byte, behind the first reading, and ends where both are the same again. */
export function twinStep(scan: Scan, byte: number, separator: number, breaksAtCr: boolean): void {
  if (scan.twinQuoted) scan.twinQuoted = byte !== QUOTE;
  else if (scan.twinAfterCr && byte === LF) scan.twinAfterCr = false;
  else outside(scan, byte, separator, breaksAtCr);
  endWhereSame(scan);
}

/** Text without a meaning, outside of quotation marks. */
export function twinText(scan: Scan): void {
  scan.twinOpens = false;
  scan.twinBlank = false;
  endWhereSame(scan);
}

function endWhereSame(scan: Scan): void {
  const pending = scan.afterCr || scan.afterEndMark || scan.twinAfterCr;
  const same = scan.quoted === scan.twinQuoted && scan.opens === scan.twinOpens && scan.blank === scan.twinBlank;
  // The first reading goes on alone where it has as many fields as the other or more: it then counts every record of
  // the other that is longer.
  if (same && !pending && scan.twinFields <= scan.fields) scan.forked = false;
}

function outside(scan: Scan, byte: number, separator: number, breaksAtCr: boolean): void {
  scan.twinAfterCr = byte === CR && !breaksAtCr;
  if (byte === CR || (byte === LF && !breaksAtCr)) {
    endTwinRecord(scan);
  } else if (byte === QUOTE) {
    Object.assign(scan, { twinQuoted: scan.twinOpens, twinBlank: false });
  } else {
    if (byte === separator) scan.twinFields += 1;
    scan.twinOpens = byte === separator;
    scan.twinBlank = false;
  }
}

/** Ends the last record of the second reading at the end of the text. */
export function endTwin(scan: Scan): void {
  if (scan.forked) endTwinRecord(scan);
}

function endTwinRecord(scan: Scan): void {
  if (!scan.twinBlank) {
    scan.extra += 1;
    if (scan.width > 0 && scan.twinFields > scan.width) scan.twinLonger += 1;
  }
  Object.assign(scan, { twinOpens: true, twinBlank: true, twinFields: 1 });
}
