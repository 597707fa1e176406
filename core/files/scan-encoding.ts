import { isAscii, isUtf8 } from 'node:buffer';
import type { Scan } from '../step/scan.ts';
import { isHebrew, lookForHebrew } from './hebrew.ts';

/** Whether a text is UTF-8, or may be Hebrew in windows-1255. Keeps the number of bytes that a cut character lacks. */
export function scanEncoding(scan: Scan, chunk: Uint8Array): void {
  if (!scan.zeros && chunk.includes(0)) scan.zeros = true;
  const ascii = isAscii(chunk);
  if (!ascii) scan.ascii = false;
  // Where all bytes are ASCII, only the last one matters for what follows.
  lookForHebrew(scan, ascii ? chunk.subarray(-1) : chunk);
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

/** Settles the encoding at the end of the text. */
export function endEncoding(scan: Scan): void {
  if (scan.continuation > 0) scan.encoding = 'unknown';
  if (scan.encoding === 'unknown' && isHebrew(scan)) scan.encoding = 'windows-1255';
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
