import { once } from 'node:events';
import { constants, createWriteStream, fstatSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Manifest } from '../../core/export/manifest.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { failed } from './find-manifest.ts';
import { bytesFrom, corruptText, type ExportsBucket, type StoredFile, storedFile } from './stored-file.ts';

interface DownloadOptions {
  /** May replace an existing file. */
  force: boolean;
  onProgress: (moved: { bytes: number; totalBytes: number }) => void;
  /** Ends it; what was downloaded stays for the next attempt. */
  signal?: AbortSignal | undefined;
}

/**
 * Downloads the file of a manifest, going on with what an earlier attempt left. It gets its name only when size and checksum
 * agree with the manifest.
 * @returns how many bytes were there already
 * @throws CommandError: 1 when the file is not what its manifest says, 2 when it cannot be written
 */
export async function downloadTo(
  target: ExportsBucket,
  manifest: Manifest,
  path: string,
  options: DownloadOptions,
): Promise<{ resumedAt: number }> {
  const { force, signal } = options;
  const file = await storedFile(target, manifest, signal);
  const part = await openPart(path, { wholeBytes: file.bytes, force, signal });
  try {
    let resumedAt = part.bytes;
    let crc = await fill(target, file, part, resumedAt, part.crc, options);
    if (resumedAt > 0 && crc32Text(crc) !== manifest.file.crc32) {
      // The part was of another file.
      await part.reset();
      resumedAt = 0;
      crc = await fill(target, file, part, 0, 0, options);
    }
    if (crc32Text(crc) !== manifest.file.crc32) {
      await part.reset();
      throw failed(corruptText(manifest, crc));
    }
    await part.finish();
    return { resumedAt };
  } finally {
    await part.close();
  }
}

async function fill(
  target: ExportsBucket,
  file: StoredFile,
  part: { append: (chunk: Uint8Array) => Promise<void> },
  from: number,
  before: number,
  { onProgress, signal }: DownloadOptions,
): Promise<number> {
  let bytes = from;
  let crc = before;
  for await (const chunk of bytesFrom(target, file, from, signal)) {
    await part.append(chunk);
    bytes += chunk.byteLength;
    crc = crc32(chunk, crc);
    onProgress({ bytes, totalBytes: file.bytes });
  }
  return crc;
}

/**
 * Writes the file of a manifest to a stream.
 * @throws CommandError (exit code 1) when what was written is not what the manifest says
 */
export async function downloadInto(
  target: ExportsBucket,
  manifest: Manifest,
  stream: NodeJS.WritableStream,
): Promise<void> {
  const file = await storedFile(target, manifest);
  const failure = once(stream, 'error').then(([error]) => {
    throw failed(`Not whole: ${unwrittenText(error)}`, error);
  });
  failure.catch(() => undefined);
  const append = async (chunk: Uint8Array) => {
    if (stream.write(chunk)) return;
    await Promise.race([new Promise<void>((resolve) => stream.once('drain', resolve)), failure]);
  };
  const crc = await fill(target, file, { append }, 0, 0, { force: false, onProgress: () => undefined });
  await Promise.race([new Promise<void>((resolve) => stream.write('', () => resolve())), failure]);
  if (crc32Text(crc) !== manifest.file.crc32) throw failed(`Not whole: ${corruptText(manifest, crc)}`);
}

/** Standard output that writes every byte or fails: that of Node drops what a full disk does not take. */
export function wholeOutput(): NodeJS.WritableStream {
  return fstatSync(1).isFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout;
}

function unwrittenText(error: NodeJS.ErrnoException): string {
  if (error.code === 'EPIPE') return 'whoever read the file stopped before its end.';
  return `standard output took no more (${error.code ?? error.name}).`;
}

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
