import { RetryableError, withRetries } from './base/retry.ts';
import type { NamedObject } from './base/types.ts';
import { Body } from './source/body.ts';
import { EmptyFile, type Opened, openSource } from './source/open.ts';
import type { Probe } from './source/reader.ts';
import type { Attempt } from './strategies/attempt.ts';
import { tooLarge } from './strategies/single.ts';

/** What a web page shows itself by is in the first bytes, however small the pieces in which they come. */
const LOOKED_AT_BYTES = 1024;

/** The first answer of the origin: it names the object, decides the strategy, and its bytes are the first of the file. */
export interface FirstAnswer extends Probe {
  object: NamedObject;
}

/**
 * Asks for the first bytes. What is no file (a sign-in page with status 200) is asked for again with a fresh link: such
 * pages pass.
 * @throws TransferError
 */
export async function probeFile(attempt: Attempt): Promise<FirstAnswer> {
  return withRetries(attempt.context, async () => {
    const opened = await openFirst(attempt);
    const body = new Body(opened.body, attempt.context);
    try {
      const { maxBytes } = attempt.options;
      if ((opened.head.length ?? 0) > maxBytes) throw tooLarge(maxBytes);
      const first = await beginningOf(body);
      const object = attempt.options.nameObject(opened.head, first);
      if (!('refuse' in object)) return { opened, body, object };
      const { link, signal } = attempt.source;
      link.expired(await link.current(signal));
      throw new RetryableError('refused', object.refuse);
    } catch (error) {
      body.close();
      throw error;
    }
  });
}

/** The first 1 KB, or all of a shorter file; it is given back, to be read again. */
async function beginningOf(body: Body): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes < LOOKED_AT_BYTES; bytes += chunks.at(-1)?.length ?? 0) {
    const chunk = await body.next();
    if (!chunk) break;
    chunks.push(chunk);
  }
  const first = Buffer.concat(chunks);
  if (first.length > 0) body.unread(first);
  return first;
}

async function openFirst(attempt: Attempt): Promise<Opened> {
  const { source } = attempt;
  try {
    return await openSource(source, { from: 0, to: attempt.context.limits.smallBytes }, null);
  } catch (error) {
    // S3 refuses every range of an empty object; what it is named is told without one.
    if (error instanceof EmptyFile) return openSource(source, undefined, null);
    throw error;
  }
}
