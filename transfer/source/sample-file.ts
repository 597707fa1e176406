import { LIMITS, type Limits } from '../base/limits.ts';
import type { FileHead, SourcePolicy } from '../base/types.ts';
import { Link, openSource, sourceOf } from './open.ts';

interface SampleOptions {
  policy: SourcePolicy;
  /** The number of bytes after which reading stops. */
  mostBytes: number;
  signal: AbortSignal;
  limits?: Partial<Limits>;
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
 * @throws TransferError, RetryableError; the signal's reason
 */
export async function sampleFile(address: string, options: SampleOptions): Promise<FileSample> {
  const { policy, signal } = options;
  const context = { limits: { ...LIMITS, ...options.limits }, random: Math.random, signal };
  const source = sourceOf(new Link(async () => address), { policy, allowUndeclaredEnd: true }, context);
  try {
    const { head, undeclaredEnd, body } = await openSource(source, undefined, null);
    const read = await readUpTo(body, options.mostBytes);
    body.close();
    return { head, undeclaredEnd, ...read };
  } finally {
    for (const agent of Object.values(source.agents)) agent.destroy();
  }
}

async function readUpTo(body: { next(): Promise<Buffer | null> }, mostBytes: number) {
  const chunks: Buffer[] = [];
  let size = 0;
  for (let next = await body.next(); next; next = await body.next()) {
    chunks.push(next);
    size += next.length;
    if (size > mostBytes) return { bytes: Buffer.concat(chunks).subarray(0, mostBytes), whole: false };
  }
  return { bytes: Buffer.concat(chunks), whole: true };
}
