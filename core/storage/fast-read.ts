import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { LIMITS } from '../../transfer/base/limits.ts';
import { type RequestContext, withRetries } from '../../transfer/base/retry.ts';
import { RetryableError, TransferError } from '../../transfer/base/transfer-errors.ts';
import type { StoreOptions } from '../../transfer/base/types.ts';
import { readResponse, StoreClient } from '../../transfer/store/store-client.ts';
import { bucketAddress } from '../aws/env.ts';
import { defaultProvider } from '../aws/environment-credentials.ts';
import { RunError } from '../errors.ts';
import type { Bucket } from './bucket.ts';

/** With one retry, a read takes at most 25 seconds. */
const FAST_LIMITS = { ...LIMITS, attempts: 2, connectMs: 2_000, firstByteMs: 5_000 };

/**
 * Reads small objects with the client of the transfer engine. The SDK takes several times as long, and this call is
 * made before every line.
 */
export function createFastRead(
  options: Pick<StoreOptions, 'bucket' | 'region' | 'urlSuffix' | 'endpoint' | 'credentials'>,
  limits = FAST_LIMITS,
): Bucket['read'] {
  const context: RequestContext = { limits, random: Math.random, signal: new AbortController().signal };
  const client = new StoreClient({ ...options, objectChecksum: false }, context);
  return async (key) => {
    try {
      return await withRetries(context, () => once(client, key, limits.firstByteMs));
    } catch (error) {
      if (!(error instanceof TransferError)) throw error;
      const denied = error.reason === 'store-denied';
      const what = `${key} could not be read. ${error.message}`;
      throw new RunError(denied ? 'StorageDenied' : 'StorageUnavailable', what, { cause: error });
    }
  };
}

async function once(client: StoreClient, key: string, withinMs: number): ReturnType<Bucket['read']> {
  const { request, response: pending } = await client.begin({ method: 'GET', key, action: 'read' });
  request.end();
  const response = await pending;
  const { statusCode, headers } = response;
  // The body of a 200 is the object, even if it looks like an error of the bucket.
  if (statusCode === 200) return { text: await bodyOf(response, withinMs), etag: headers.etag ?? '' };
  await readResponse(response, { action: 'read', withinMs, accept: [404] });
  return undefined;
}

/** @throws RetryableError if the bucket stops sending, or the connection breaks */
async function bodyOf(response: IncomingMessage, withinMs: number): Promise<string> {
  const timer = setTimeout(() => response.destroy(new Error('silence')), withinMs);
  try {
    return await text(response);
  } catch (cause) {
    throw new RetryableError('store-unavailable', 'S3 closed the connection early.', { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the bucket that the environment of a function names. */
export function fastReadFromEnv({ env } = process): Bucket['read'] {
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL;
  return createFastRead({ ...bucketAddress(env), endpoint, credentials: defaultProvider() });
}
