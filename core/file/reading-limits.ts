import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** Limits of one invocation for reading a file. */
export interface ReadingLimits {
  /** Bytes of unpacked content. All parts of a workbook count. */
  contentBytes: number;
  /** Bytes that may be written to the disk. */
  diskBytes: number;
  /** Seconds until reading must end. */
  secondsLeft: () => number;
}

/** A file is too large for one invocation. The message says which limit it exceeds, without quoting the file. */
export class ReadingUnfinished extends Error {
  override readonly name = 'ReadingUnfinished';
  /** The content is larger than `ReadingLimits.contentBytes`. Otherwise the time or the disk does not suffice. */
  readonly tooLarge: boolean;

  constructor(message: string, tooLarge = false) {
    super(message);
    this.tooLarge = tooLarge;
  }
}

/** Seconds that the caller needs to report the result. */
const SECONDS_NEEDED = 20;

/** Counts the bytes that are read, and stops at a limit. @throws ReadingUnfinished */
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
    if (this.content > contentBytes)
      throw new ReadingUnfinished(`has more than ${sizeText(contentBytes)} of content`, true);
    if (secondsLeft() < SECONDS_NEEDED) {
      throw new ReadingUnfinished(
        `takes longer to read than this invocation may last (${sizeText(this.content)} were read)`,
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

/** Bytes of the disk that stay free. */
const RESERVE_BYTES = 16 * 1024 * 1024;

/** Free bytes on the function's disk, without the reserve. */
export async function freeDisk(): Promise<number> {
  const { bavail, bsize } = await statfs(tmpdir());
  return Math.max(0, bavail * bsize - RESERVE_BYTES);
}
