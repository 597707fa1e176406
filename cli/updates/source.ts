import { type FileHandle, open } from 'node:fs/promises';
import { type FileStamp, isUnchanged, stampOf } from '../../core/updates/file-stamp.ts';
import { CSV } from '../../core/updates/read-csv.ts';
import type { UpdateReader } from '../../core/updates/read-updates.ts';
import { formatOf, JSONL, type UpdateFormat } from '../../core/updates/read-updates.ts';
import { CommandError, USAGE } from '../support/exit.ts';

/** Where updates come from. Read twice: to check, and to send. */
export interface UpdateSource {
  name: string;
  reader: UpdateReader;
  /** All bytes from the first on; throws CommandError (exit code 2) where they are not those of before. */
  open: () => AsyncIterable<Uint8Array>;
  close: () => Promise<void>;
}

const READERS: Record<UpdateFormat, UpdateReader> = { csv: CSV, jsonl: JSONL };
/** Larger pieces are hardly faster, and cost 20 MB more of memory at a million lines. */
const PIECE_BYTES = 64 * 1024;

/** A file that is refused before anything was sent. */
export function refused(sentence: string, options: { cause?: unknown } = {}): CommandError {
  return new CommandError(`${sentence} Nothing was sent.`, USAGE, options);
}

/** @throws CommandError (exit code 2) when there is no such file, or none of a known format */
export async function openUpdateFile(path: string): Promise<UpdateSource> {
  const format = formatOf(path);
  if (typeof format !== 'string') throw refused(`${path} ${format.sentence}.`);
  const file = await open(path).catch((error: unknown) => {
    throw refused(`${path} ${whyNotOpened(error)}.`, { cause: error });
  });
  try {
    if (!(await file.stat()).isFile()) throw refused(`${path} is no file.`);
    const stamp = await stampOf(file);
    return { name: path, reader: READERS[format], open: () => unchanged(path, file, stamp), close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function whyNotOpened(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  return code === 'EACCES' ? 'may not be read' : `cannot be opened (${code})`;
}

async function* unchanged(path: string, file: FileHandle, before: FileStamp): AsyncGenerator<Uint8Array> {
  let position = 0;
  for (;;) {
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, position);
    // The file is looked at again after every piece: a problem found in changed content would mislead.
    if (!isUnchanged(before, await stampOf(file))) throw changed(path);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
    position += bytesRead;
  }
}

export function changed(name: string): CommandError {
  return refused(`${name} changed while it was read: wait until it is complete.`);
}
