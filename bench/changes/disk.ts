import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const OFTEN_MS = 200;
const BLOCK_BYTES = 512;

/** The most that a folder takes on the disk while work goes on, in bytes, as it is looked at five times a second. */
export async function withPeakOfDisk<T>(dir: string, work: () => Promise<T>): Promise<{ result: T; peak: number }> {
  let peak = 0;
  const look = setInterval(() => {
    peak = Math.max(peak, bytesIn(dir));
  }, OFTEN_MS);
  try {
    return { result: await work(), peak };
  } finally {
    clearInterval(look);
  }
}

function bytesIn(dir: string): number {
  return readdirSync(dir, { recursive: true }).reduce((bytes, name) => {
    // Some are removed meanwhile.
    const file = statSync(join(dir, String(name)), { throwIfNoEntry: false });
    return bytes + (file ? file.blocks * BLOCK_BYTES : 0);
  }, 0);
}
