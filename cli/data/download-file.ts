import { once } from 'node:events';
import { createWriteStream, fstatSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Manifest } from '../../core/export/manifest.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { failed } from './find.ts';
import { bytesFrom, type ExportsBucket, type StoredFile, storedFile } from './object.ts';
import { openPart } from './part.ts';

export interface DownloadOptions {
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

export function corruptText({ file }: Manifest, crc: number): string {
  return `The file ${file.key} is corrupt: its CRC-32 is ${crc32Text(crc)}, and its manifest says ${file.crc32}. Use another date, and tell who runs the deployment.`;
}
