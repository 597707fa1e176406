import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { CommandError, USAGE } from '../support/exit.ts';
import { failed } from './find.ts';

const OWNER_ONLY = 0o600;
/** A link that somebody else put there is not followed. */
const TO_APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const BLOCK_BYTES = 1 << 20;

/**
 * Opens `FILE.part`, which only its owner may read and no other download writes, and measures what an earlier attempt left.
 * @param wholeBytes size of the whole file; a longer part is discarded
 * @throws CommandError (exit code 2) when FILE exists and may not be replaced, or cannot be written; so do the methods
 */
export async function openPart(
  path: string,
  { wholeBytes, force, signal }: { wholeBytes: number; force: boolean; signal?: AbortSignal | undefined },
) {
  await refuseExisting(path, force);
  const cannot = (error: unknown) => {
    throw error instanceof CommandError ? error : new CommandError(cannotText(path, error), USAGE, { cause: error });
  };
  const partPath = `${path}.part`;
  const unlock = await lockPart(partPath).catch(cannot);
  try {
    const handle = await open(partPath, TO_APPEND, OWNER_ONLY).catch(cannot);
    // The file may have existed with other permissions.
    await handle.chmod(OWNER_ONLY).catch(cannot);
    if ((await handle.stat()).size > wholeBytes) await handle.truncate(0);
    return {
      ...(await measure(handle, signal)),
      append: (chunk: Uint8Array) => handle.appendFile(chunk).catch(cannot),
      reset: () => handle.truncate(0),
      /** Removes the part, so that no other attempt continues it. */
      discard: () => rm(partPath, { force: true }),
      /** Moves the proven file into its place. @param bytes that it must have */
      finish: async (bytes = wholeBytes) => {
        await handle.sync().catch(cannot);
        const { size } = await handle.stat();
        if (size !== bytes) throw failed(`${partPath} has ${size} bytes on the disk, not ${bytes}: remove it.`);
        await refuseExisting(path, force);
        await rename(partPath, path);
      },
      /** Leaves it for the next attempt. */
      close: () => handle.close().finally(unlock),
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/**
 * Takes `FILE.part.lock`, so that one download at a time writes `FILE.part`.
 * @returns a function that removes it
 * @throws CommandError (exit code 2) where another process has it; the error of the system where it cannot be made
 */
async function lockPart(partPath: string): Promise<() => Promise<void>> {
  const lock = `${partPath}.lock`;
  try {
    await writeFile(lock, `process ${process.pid} on ${hostname()}`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const held = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (held) throw new CommandError(await heldText(lock, partPath), USAGE, { cause: error });
    // A full disk leaves a lock file without content.
    await rm(lock, { force: true });
    throw error;
  }
  return () => rm(lock, { force: true });
}

/** The lock of a dead process stays: that process may be of another machine, so only a person can tell. */
async function heldText(lock: string, partPath: string): Promise<string> {
  const text = await readFile(lock, 'utf8').catch(() => '');
  const holder = /^process \d+ on [\w.-]+$/.exec(text)?.[0] ?? 'another process';
  return `${partPath} is being written by ${holder}: wait for its end, or name another file with -o. If that process is dead, remove ${lock}, then start again.`;
}

/** @throws CommandError (exit code 2) */
export async function refuseExisting(path: string, force: boolean): Promise<void> {
  const standing = await stat(path).catch(() => undefined);
  if (standing?.isDirectory()) throw new CommandError(`${path} is a directory: name a file in it.`, USAGE);
  if (standing && !force) throw new CommandError(`${path} is there already: name another file, or add --force.`, USAGE);
}

function cannotText(path: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return `There is no directory ${dirname(path)}: make it first.`;
  return `${path}.part cannot be written (${code || 'unknown trouble'}): name a file elsewhere with -o.`;
}

async function measure(handle: FileHandle, signal?: AbortSignal) {
  const block = Buffer.alloc(BLOCK_BYTES);
  let bytes = 0;
  let crc = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(block, 0, BLOCK_BYTES, bytes);
    if (bytesRead === 0) return { bytes, crc };
    crc = crc32(block.subarray(0, bytesRead), crc);
    bytes += bytesRead;
  }
}
