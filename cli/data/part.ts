import { constants } from 'node:fs';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { CommandError, USAGE } from '../support/exit.ts';
import { failed } from './find.ts';
import { lockPart } from './lock.ts';

const OWNER_ONLY = 0o600;
/** A link that somebody else put there is not followed. */
const TO_APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const BLOCK_BYTES = 1 << 20;

/** A file that is not proven yet, beside the place where it will stand. */
export interface PartFile {
  /** What was there already, of an earlier attempt. */
  bytes: number;
  crc: number;
  /** Writes all of it. @throws CommandError (exit code 2) where that cannot be, as on a full disk */
  append(chunk: Uint8Array): Promise<void>;
  /** Forgets what is there. */
  reset(): Promise<void>;
  /** Puts the proven file into its place. @throws CommandError when something stands there, or the disk holds less */
  finish(): Promise<void>;
  /** Leaves it for the next attempt. */
  close(): Promise<void>;
}

/**
 * Opens `FILE.part`, which only its owner may read and no other download writes, and measures what is there.
 * @param wholeBytes size of the whole file; a longer part is discarded
 * @throws CommandError (exit code 2) when FILE is there and may not be replaced, or nothing can be written there
 */
export async function openPart(
  path: string,
  { wholeBytes, force, signal }: { wholeBytes: number; force: boolean; signal?: AbortSignal | undefined },
): Promise<PartFile> {
  await refuseExisting(path, force);
  const cannot = (error: unknown) => {
    throw error instanceof CommandError ? error : new CommandError(cannotText(path, error), USAGE, { cause: error });
  };
  const partPath = `${path}.part`;
  const unlock = await lockPart(partPath).catch(cannot);
  try {
    const handle = await open(partPath, TO_APPEND, OWNER_ONLY).catch(cannot);
    // It may have existed with other permissions.
    await handle.chmod(OWNER_ONLY).catch(cannot);
    if ((await handle.stat()).size > wholeBytes) await handle.truncate(0);
    return {
      ...(await measure(handle, signal)),
      append: (chunk) => handle.appendFile(chunk).catch(cannot),
      reset: () => handle.truncate(0),
      finish: async () => {
        await handle.sync().catch(cannot);
        const { size } = await handle.stat();
        if (size !== wholeBytes)
          throw failed(`${partPath} has ${size} bytes on the disk, not ${wholeBytes}: remove it.`);
        await refuseExisting(path, force);
        await rename(partPath, path);
      },
      close: () => handle.close().finally(unlock),
    };
  } catch (error) {
    await unlock();
    throw error;
  }
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

async function measure(handle: FileHandle, signal?: AbortSignal): Promise<{ bytes: number; crc: number }> {
  const block = Buffer.alloc(BLOCK_BYTES);
  let [bytes, crc] = [0, 0];
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(block, 0, BLOCK_BYTES, bytes);
    if (bytesRead === 0) return { bytes, crc };
    crc = crc32(block.subarray(0, bytesRead), crc);
    bytes += bytesRead;
  }
}
