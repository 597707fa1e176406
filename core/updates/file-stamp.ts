import type { FileHandle } from 'node:fs/promises';

/** What changes when somebody writes to a file. */
export interface FileStamp {
  bytes: bigint;
  changedAtNs: bigint;
}

/** Taken before and after reading, two stamps tell whether the file stayed as it was. */
export async function stampOf(file: Pick<FileHandle, 'stat'>): Promise<FileStamp> {
  const { size, mtimeNs } = await file.stat({ bigint: true });
  return { bytes: size, changedAtNs: mtimeNs };
}

export function isUnchanged(before: FileStamp, after: FileStamp): boolean {
  return before.bytes === after.bytes && before.changedAtNs === after.changedAtNs;
}
