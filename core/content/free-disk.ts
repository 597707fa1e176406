import { readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes that are left free. */
const RESERVE_BYTES = 16 * 1024 * 1024;
/** Folders of functions in the temporary folder. */
const OWN = /^(?:feed|changes|unpacked)-/;

/** Bytes that may still be put on the function's own disk. */
export async function freeDisk(): Promise<number> {
  const { bavail, bsize } = await statfs(tmpdir());
  return Math.max(0, bavail * bsize - RESERVE_BYTES);
}

/**
 * Removes what killed invocations left on the function's own disk. On AWS an invocation is alone in its container; functions of a
 * local cloud share the folder, so nothing is removed there.
 */
export async function emptyTemporaryFolder(): Promise<void> {
  const { AWS_LAMBDA_FUNCTION_NAME: name, AWS_ENDPOINT_URL: local } = process.env;
  if (name === undefined || local !== undefined) return;
  for (const folder of (await readdir(tmpdir())).filter((entry) => OWN.test(entry))) {
    await rm(join(tmpdir(), folder), { recursive: true, force: true });
  }
}
