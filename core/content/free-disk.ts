import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** Bytes that are left free. */
const RESERVE_BYTES = 16 * 1024 * 1024;

/** Bytes that may still be put on the function's own disk. */
export async function freeDisk(): Promise<number> {
  const { bavail, bsize } = await statfs(tmpdir());
  return Math.max(0, bavail * bsize - RESERVE_BYTES);
}
