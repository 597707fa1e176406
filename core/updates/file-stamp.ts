import type { FileHandle } from 'node:fs/promises';

/** What changes when somebody writes to a file. */
export interface FileStamp {
  bytes: bigint;
  changedAtNs: bigint;
}

/** What tells whether a file stayed as it was, where it is taken before and after reading. */
export async function stampOf(file: Pick<FileHandle, 'stat'>): Promise<FileStamp> {
  const { size, mtimeNs } = await file.stat({ bigint: true });
  return { bytes: size, changedAtNs: mtimeNs };
}

export function isUnchanged(before: FileStamp, after: FileStamp): boolean {
  return before.bytes === after.bytes && before.changedAtNs === after.changedAtNs;
}
