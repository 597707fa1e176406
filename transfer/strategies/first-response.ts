import { RetryableError, TransferError } from '../base/errors.ts';
import { withRetries } from '../base/retry.ts';
import type { NamedObject } from '../base/types.ts';
import type { Body } from '../source/body.ts';
import { NoBytesInRange, type Opened, openSource } from '../source/open.ts';
import type { Attempt } from './attempt.ts';

/** What marks a web page is in its first bytes, however small the chunks in which they come. */
const INSPECTED_BYTES = 1024;

/** The first response of the origin: it names the object, decides the strategy, and its bytes are the first of the file. */
export interface FirstResponse extends Opened {
  object: NamedObject;
}

/** Requests the first bytes. What is no file (a sign-in page) is retried with a fresh link. @throws TransferError */
export function requestFirst({ context, source, options }: Attempt): Promise<FirstResponse> {
  return withRetries(context, async () => {
    const opened = await openFirst(source, context.limits.smallBytes);
    const { body } = opened;
    try {
      if ((opened.head.length ?? 0) > options.maxBytes) throw tooLarge(options.maxBytes);
      const object = options.nameObject(opened.head, await beginningOf(body));
      if (!('refuse' in object)) return { ...opened, object };
      source.link.expire(await source.link.current(source.signal));
      throw new RetryableError('refused', object.refuse);
    } catch (error) {
      body.close();
      throw error;
    }
  });
}

/** Reads and puts back the first 1 KB, or all of a shorter file. */
async function beginningOf(body: Body): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes < INSPECTED_BYTES; bytes += chunks.at(-1)?.length ?? 0) {
    const chunk = await body.next();
    if (!chunk) break;
    chunks.push(chunk);
  }
  const first = Buffer.concat(chunks);
  if (first.length > 0) body.unread(first);
  return first;
}

async function openFirst(source: Attempt['source'], bytes: number): Promise<Opened> {
  try {
    return await openSource(source, { from: 0, to: bytes }, null);
  } catch (error) {
    // S3 refuses every range of an empty object.
    if (error instanceof NoBytesInRange) return openSource(source, undefined, null);
    throw error;
  }
}

export function tooLarge(most: number): TransferError {
  const message = `The file is larger than the ${most} bytes that are allowed, or than can be stored without knowing its size.`;
  return new TransferError('too-large', message);
}
