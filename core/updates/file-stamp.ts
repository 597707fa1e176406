import type { FileHandle } from 'node:fs/promises';

/** Size and time of a file, which change when the file is written. */
export interface FileStamp {
  bytes: bigint;
  changedAtNs: bigint;
}

/** Take it before and after reading, to detect whether the file was changed meanwhile. */
export async function stampOf(file: Pick<FileHandle, 'stat'>): Promise<FileStamp> {
  const { size, mtimeNs } = await file.stat({ bigint: true });
  return { bytes: size, changedAtNs: mtimeNs };
}

export function isUnchanged(before: FileStamp, after: FileStamp): boolean {
  return before.bytes === after.bytes && before.changedAtNs === after.changedAtNs;
}
