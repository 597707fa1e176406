import { readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What one invocation can read of packed content. */
export interface ReadingLimits {
  /** Bytes of content, unpacked; all parts of a workbook count. */
  contentBytes: number;
  /** Bytes that may be put aside on the disk. */
  diskBytes: number;
  /** Seconds until reading has to end. */
  secondsLeft: () => number;
}

/** The message says of a file what of it is too much for one invocation, without anything of its content. */
export class ReadingUnfinished extends Error {
  override readonly name = 'ReadingUnfinished';
}

/** Seconds that the caller needs to say how reading ended. */
const SECONDS_NEEDED = 20;

/**
 * Counts what is read against the limits.
 * @throws ReadingUnfinished
 */
export class ReadingBudget {
  private content = 0;
  private disk = 0;
  private readonly limits: ReadingLimits;

  constructor(limits: ReadingLimits) {
    this.limits = limits;
  }

  read(bytes: number): void {
    this.content += bytes;
    const { contentBytes, secondsLeft } = this.limits;
    if (this.content > contentBytes) throw new ReadingUnfinished(`has more than ${sizeText(contentBytes)} of content`);
    if (secondsLeft() < SECONDS_NEEDED) {
      throw new ReadingUnfinished(
        `has content that takes longer to read than there is time (${sizeText(this.content)} were read)`,
      );
    }
  }

  store(bytes: number): void {
    this.disk += bytes;
    const { diskBytes } = this.limits;
    if (this.disk > diskBytes) throw new ReadingUnfinished(`needs more than ${sizeText(diskBytes)} of disk to be read`);
  }
}

function sizeText(bytes: number): string {
  return `${Math.round(bytes / 1_000_000).toLocaleString('en-US')} MB`;
}

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
