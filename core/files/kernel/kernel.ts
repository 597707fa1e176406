import type { Scan } from '../../step/scan.ts';
import { KERNEL } from './kernel-bytes.ts';

/** The kernel reads whole blocks of so many bytes. */
const BLOCK = 64;
/** The kernel's memory. */
const PIECE = 64 * 1024;
/** The first record lies behind the numbers of the state. */
const FIRST_AT = PIECE + 160;

/** What kernel.wat exports. The first two return the place in memory where they stopped. */
interface Exports {
  memory: { buffer: ArrayBuffer };
  scanCsv: (at: number, end: number, separator: number) => number;
  lookForHebrew: (at: number, end: number) => number;
  narrow: (end: number, bigEndian: number) => void;
}

interface Kernel extends Exports {
  text: Uint8Array;
  state: Float64Array;
  /** How the first record begins: `CsvGrammar.first`. */
  first: Uint8Array;
}

/** Signs of Hebrew in windows-1255; no byte of the text. */
export interface HebrewSigns {
  /** No byte was undefined in windows-1255, or showed another encoding. */
  mayBeHebrew: boolean;
  /** Bytes beyond ASCII. */
  highBytes: number;
  /** Hebrew letters right behind another one. */
  joinedLetters: number;
  /** The kind of the last byte. */
  before: number;
}

/** The types of Node.js do not have it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Exports };
};

let loaded: Kernel | undefined;

function load(): Kernel {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(KERNEL, 'base64')));
  const { buffer } = exports.memory;
  const text = new Uint8Array(buffer, 0, PIECE);
  const first = new Uint8Array(buffer, FIRST_AT, 32);
  return { ...exports, text, state: new Float64Array(buffer, PIECE), first };
}

/**
 * Reads bytes by the kernel, and what it leaves by a state machine: blocks that hold something unusual, and the rest of a
 * piece. Each takes over the state that the other leaves.
 */
function read(
  bytes: Uint8Array,
  byKernel: (kernel: Kernel, at: number, end: number) => number,
  byStates: (part: Uint8Array) => void,
): void {
  if (bytes.length < BLOCK) {
    byStates(bytes);
    return;
  }
  loaded ??= load();
  for (let start = 0; start < bytes.length; start += PIECE) {
    const piece = bytes.subarray(start, start + PIECE);
    loaded.text.set(piece);
    let skipped = BLOCK / 2;
    for (let at = 0; at < piece.length; ) {
      const stopped = byKernel(loaded, at, piece.length);
      // Where the unusual is usual, calls of the kernel would cost more than they save.
      skipped = stopped > at ? BLOCK : skipped * 2;
      at = stopped + skipped;
      byStates(piece.subarray(stopped, at));
    }
  }
}

/**
 * Advances the grammar of CSV where line feeds end records.
 * @param begins the first eight bytes of the first record and which of their bits count, twice; `null` = repetitions are not counted
 */
export function readCsv(
  scan: Scan,
  bytes: Uint8Array,
  separator: number,
  begins: Uint8Array | null,
  byStates: (part: Uint8Array) => void,
): void {
  const byKernel = ({ state, first, scanCsv }: Kernel, at: number, end: number) => {
    if (scan.afterEndMark || scan.forked || (scan.repeats >= 0 && !scan.blank)) return at;
    giveScan(scan, state);
    state[19] = Number(begins !== null);
    if (begins) first.set(begins);
    const stopped = scanCsv(at, end, separator);
    takeScan(scan, state);
    return stopped;
  };
  read(bytes, byKernel, byStates);
}

/** The places of kernel.wat. Written out: loops over the names take longer than the kernel with a block. */
function giveScan(scan: Scan, state: Float64Array): void {
  state[0] = scan.records;
  state[1] = scan.irregular;
  state[2] = scan.width;
  state[3] = scan.fields;
  state[4] = scan.blankLines;
  state[5] = scan.lineBreaks;
  state[6] = Number(scan.quoted);
  state[7] = Number(scan.opens);
  state[8] = Number(scan.blank);
  state[9] = Number(scan.afterCr);
  state[13] = scan.last;
  state[14] = scan.longer;
  state[15] = scan.emptyRows;
  state[16] = Number(scan.filled);
  state[17] = Number(scan.closed);
  state[18] = scan.strayQuotes;
}

function takeScan(scan: Scan, state: Float64Array): void {
  scan.records = state[0] ?? 0;
  scan.irregular = state[1] ?? 0;
  scan.width = state[2] ?? 0;
  scan.fields = state[3] ?? 0;
  scan.blankLines = state[4] ?? 0;
  scan.lineBreaks = state[5] ?? 0;
  scan.quoted = state[6] === 1;
  scan.opens = state[7] === 1;
  scan.blank = state[8] === 1;
  scan.afterCr = state[9] === 1;
  scan.last = state[13] ?? 0;
  scan.longer = state[14] ?? 0;
  scan.emptyRows = state[15] ?? 0;
  scan.filled = state[16] === 1;
  scan.closed = state[17] === 1;
  scan.strayQuotes = state[18] ?? 0;
  // What may repeat the first record, the kernel leaves to the state machine.
  scan.repeats = scan.blank ? 0 : -1;
}

/** Advances the signs of Hebrew until something shows another encoding. */
export function readHebrew(signs: HebrewSigns, bytes: Uint8Array, byStates: (part: Uint8Array) => void): void {
  const byKernel = ({ state, lookForHebrew }: Kernel, at: number, end: number) => {
    if (!signs.mayBeHebrew) return end;
    state[10] = signs.highBytes;
    state[11] = signs.joinedLetters;
    state[12] = signs.before;
    const stopped = lookForHebrew(at, end);
    signs.highBytes = state[10];
    signs.joinedLetters = state[11];
    signs.before = state[12];
    return stopped;
  };
  if (signs.mayBeHebrew) read(bytes, byKernel, byStates);
}

export type Wide = 'utf-16le' | 'utf-16be';

export function isWide(encoding: string | null): encoding is Wide {
  return encoding === 'utf-16le' || encoding === 'utf-16be';
}

/** The code units of UTF-16 as bytes for `scanCsv`: any that is not ASCII becomes one without a meaning, by its low bits. */
export function narrowed(chunk: Uint8Array, encoding: Wide): Uint8Array {
  loaded ??= load();
  const narrow = new Uint8Array(chunk.length >> 1);
  for (let start = 0; start < 2 * narrow.length; start += PIECE) {
    const units = chunk.subarray(start, Math.min(start + PIECE, 2 * narrow.length));
    loaded.text.set(units);
    loaded.narrow(units.length, Number(encoding === 'utf-16be'));
    narrow.set(loaded.text.subarray(0, units.length / 2), start / 2);
  }
  return narrow;
}
