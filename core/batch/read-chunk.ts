import { buffer } from 'node:stream/consumers';
import { RunError } from '../errors.ts';
import type { Bucket } from '../storage/bucket.ts';
import { LONGEST_LINE, lineCount } from '../updates/line-blocks.ts';
import { FOUND_VALID, isProblem, readJsonLines, type UpdateRecord } from '../updates/read-updates.ts';
import type { Batch } from './batch-state.ts';

/** A piece holds at least one whole line. The input is read in pieces: an idle stream would be closed. */
const PIECE_BYTES = LONGEST_LINE + 1;
const LF = 0x0a;

/** A part of the input: the line that begins at a byte; `to` is the first byte after the part. */
export interface LineRange {
  line: number;
  byte: number;
  to: number;
}

/** The records of a range, in order. @throws RunError `StorageConflict` if the input was changed after validation */
export async function* readRecords(store: Bucket, batch: Batch, lines: LineRange): AsyncGenerator<UpdateRecord, void> {
  let { byte, line } = lines;
  while (byte < lines.to) {
    const end = Math.min(lines.to, byte + PIECE_BYTES);
    const piece = await pieceOf(store, batch, byte, end);
    const whole = byte + piece.length === lines.to ? piece : piece.subarray(0, piece.lastIndexOf(LF) + 1);
    if (whole.length === 0) throw changed(batch.inputKey);
    const block = { bytes: whole, from: byte, tooLong: false };
    for (const entry of readJsonLines(block, line, FOUND_VALID)) {
      if (isProblem(entry)) throw changed(batch.inputKey);
      yield entry;
    }
    byte += whole.length;
    line += lineCount(block);
  }
}

/** Reads bytes of the validated version only. */
async function pieceOf(store: Bucket, { inputKey, etag }: Batch, from: number, to: number): Promise<Buffer> {
  const piece = await store.stream(inputKey, { from, to, etag }).catch((error: unknown) => {
    throw error instanceof RunError && error.name === 'StorageConflict' ? changed(inputKey) : error;
  });
  if (!piece) throw changed(inputKey);
  return buffer(piece.chunks);
}

function changed(key: string): RunError {
  return new RunError('StorageConflict', `The object at ${key} is no longer the one that was validated.`);
}
