import { LIMITS } from '../base/limits.ts';
import type { FileHead, SourcePolicy } from '../base/types.ts';
import { Link, openSource, sourceOf } from './open.ts';

interface SampleOptions {
  policy: SourcePolicy;
  /** The number of bytes after which reading stops. */
  mostBytes: number;
  signal: AbortSignal;
}

/** The beginning of a file, or all of it. */
export interface FileSample {
  head: FileHead;
  /** Whether only the closing of the connection marks the end of the file. */
  undeclaredEnd: boolean;
  bytes: Buffer;
  /** Whether `bytes` holds the whole response. */
  whole: boolean;
}

/**
 * One GET of a file by the rules of a transfer, without retries. It checks the address, each redirect and the resolved
 * IP addresses.
 * @throws TransferError; the signal's reason
 */
export async function sampleFile(address: string, { policy, mostBytes, signal }: SampleOptions): Promise<FileSample> {
  const context = { limits: LIMITS, random: Math.random, signal };
  const source = sourceOf(new Link(async () => address, signal), { policy, allowUndeclaredEnd: true }, context);
  try {
    const { head, undeclaredEnd, body } = await openSource(source, undefined, null);
    const bytes = await body.upTo(mostBytes + 1);
    body.close();
    return { head, undeclaredEnd, bytes: bytes.subarray(0, mostBytes), whole: bytes.length <= mostBytes };
  } finally {
    source.close();
  }
}
