import { constants, createWriteStream, fstatSync } from 'node:fs';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Manifest } from '../../core/export/manifest.ts';
import { measured } from '../../core/updates/lines.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { cannotWriteText } from '../support/command-options.ts';
import { CommandError, usageError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { bytesFrom, corruptText, storedFile } from './stored-file.ts';
import { fileError } from './stored-manifests.ts';

type Measure = { bytes: number; crc32: number };

const NOTHING: Measure = { bytes: 0, crc32: 0 };

interface DownloadOptions {
  force: boolean;
  onProgress: (moved: { bytes: number; totalBytes: number }) => void;
  /** Aborts the download; the next attempt continues from the bytes that are on the disk. */
  signal?: AbortSignal | undefined;
}

/**
 * Downloads the file of a manifest, and continues an earlier attempt. The file gets its final name only if size and
 * checksum match the manifest.
 * @returns the number of bytes that were on the disk already
 * @throws CommandError: 1 when the file differs from its manifest, 2 when it cannot be written
 */
export async function downloadTo(
  target: Target,
  manifest: Manifest,
  path: string,
  { force, onProgress, signal }: DownloadOptions,
): Promise<number> {
  const file = await storedFile(target, manifest, signal);
  const part = await openPart(path, { wholeBytes: file.bytes, force, signal });
  /** Appends the bytes that follow the first ones. @returns the CRC-32 of all */
  const fill = async (first: Measure): Promise<number> => {
    const total = { ...first };
    for await (const chunk of measured(bytesFrom(target, file, first.bytes, signal), total)) {
      await part.append(chunk);
      onProgress({ bytes: total.bytes, totalBytes: file.bytes });
    }
    return total.crc32;
  };
  try {
    let resumedAt = part.first.bytes;
    let crc = await fill(part.first);
    if (resumedAt > 0 && crc32Text(crc) !== manifest.file.crc32) {
      // The bytes on the disk belong to another file.
      await part.reset();
      resumedAt = 0;
      crc = await fill(NOTHING);
    }
    if (crc32Text(crc) !== manifest.file.crc32) {
      await part.reset();
      throw fileError(corruptText(manifest, crc));
    }
    await part.finish();
    return resumedAt;
  } finally {
    await part.close();
  }
}

/**
 * Writes the file of a manifest to a stream.
 * @throws CommandError (exit code 1) when the written bytes do not match the manifest
 */
export async function downloadInto(target: Target, manifest: Manifest, stream: Writable): Promise<void> {
  const file = await storedFile(target, manifest);
  const total = { ...NOTHING };
  // Not `errored`: standard output forgets its error, because a program may write to it again.
  const failed: Error[] = [];
  stream.once('error', (error) => failed.push(error));
  try {
    await pipeline(measured(bytesFrom(target, file, 0), total), stream, { end: false });
    await new Promise<void>((resolve, reject) => stream.write('', (error) => (error ? reject(error) : resolve())));
  } catch (error) {
    const own: NodeJS.ErrnoException | undefined = failed.find((one) => one === error);
    const isClosed = own?.code === 'EPIPE';
    const failure = `writing to standard output failed (${own?.code ?? own?.name})`;
    const why = isClosed ? 'the program that read the file stopped before the end' : failure;
    throw own ? fileError(`Unusable output: ${why}.`, error) : error;
  }
  if (crc32Text(total.crc32) !== manifest.file.crc32)
    throw fileError(`Unusable output: ${corruptText(manifest, total.crc32)}`);
}

/** A standard output that writes every byte or fails. Node's own stream drops bytes when the disk is full. */
export function wholeOutput(): Writable {
  return fstatSync(1).isFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout;
}

const OWNER_ONLY = 0o600;
/** O_NOFOLLOW: a link that another user created at this path is not followed. */
const TO_APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const BLOCK_BYTES = 1 << 20;

/**
 * Opens `FILE.part` for its owner only and for one download at a time, and measures the bytes of an earlier attempt.
 * @param wholeBytes size of the whole file; a longer part is discarded
 * @throws CommandError (exit code 2) when FILE exists and may not be replaced, or cannot be written; methods throw it
 * too
 */
export async function openPart(
  path: string,
  { wholeBytes, force, signal }: { wholeBytes: number; force: boolean; signal?: AbortSignal | undefined },
) {
  await refuseExisting(path, force);
  const cannot = (error: unknown) => {
    throw error instanceof CommandError ? error : usageError(cannotWriteText(`${path}.part`, error, '-o'), error);
  };
  const partPath = `${path}.part`;
  const unlock = await lockPart(partPath).catch(cannot);
  try {
    const handle = await open(partPath, TO_APPEND, OWNER_ONLY).catch(cannot);
    // The file may have existed with other permissions.
    await handle.chmod(OWNER_ONLY).catch(cannot);
    if ((await handle.stat()).size > wholeBytes) await handle.truncate(0);
    const first = { ...NOTHING };
    const whole = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: BLOCK_BYTES });
    for await (const _ of measured(whole, first)) signal?.throwIfAborted();
    return {
      first,
      append: (chunk: Uint8Array) => handle.appendFile(chunk).catch(cannot),
      reset: () => handle.truncate(0),
      /** Removes the part, so that no later attempt continues it. */
      discard: () => rm(partPath, { force: true }),
      /** Renames the verified file to its final name. @param bytes expected size */
      finish: async (bytes = wholeBytes) => {
        await handle.sync().catch(cannot);
        const { size } = await handle.stat();
        if (size !== bytes) throw fileError(`${partPath} has ${size} bytes on the disk, not ${bytes}: remove it.`);
        await refuseExisting(path, force);
        await rename(partPath, path).catch(cannot);
      },
      /** Closes the part and keeps it for the next attempt. */
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
 * @throws CommandError (exit code 2) if another process holds the lock; the system error if the lock cannot be written
 */
async function lockPart(partPath: string): Promise<() => Promise<void>> {
  const lock = `${partPath}.lock`;
  try {
    await writeFile(lock, `process ${process.pid} on ${hostname()}`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const held = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (held) throw usageError(await heldText(lock, partPath), error);
    // A full disk leaves a lock file without content.
    await rm(lock, { force: true });
    throw error;
  }
  return () => rm(lock, { force: true });
}

/** The lock of a dead process stays: the process may run on another machine, so only a person can decide. */
async function heldText(lock: string, partPath: string): Promise<string> {
  const text = await readFile(lock, 'utf8').catch(() => '');
  const holder = /^process \d+ on [\w.-]+$/.exec(text)?.[0] ?? 'another process';
  return `${partPath} is being written by ${holder}. Wait until it ends, or name another file with -o. If that process has died, remove ${lock} and start again.`;
}

/** @throws CommandError (exit code 2) */
export async function refuseExisting(path: string, force: boolean): Promise<void> {
  const standing = await stat(path).catch(() => undefined);
  if (standing?.isDirectory()) throw usageError(`${path} is a directory: name a file in it.`);
  if (standing && !force) throw usageError(`${path} already exists: name another file, or add --force.`);
}
