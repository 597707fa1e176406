import type { IncomingMessage } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import { RunError } from '../errors.ts';
import { retryAfterSeconds } from '../retry-after.ts';
import { checkFileUrl } from './file-url.ts';

/** A socket without any byte for this long is dead. */
const IDLE_MS = 60_000;
const REDIRECTS = 3;

export interface OpenOptions {
  /** Whether http is allowed. */
  local: boolean;
  /** Ends the transfer when the invocation runs out of time. */
  signal: AbortSignal;
  idleMs?: number;
}

/** An answered GET of the file: bytes as they come, nothing of them read yet. */
export interface RemoteFile {
  body: AsyncIterable<Uint8Array>;
  /** Declared length in bytes; `null` when the answer is chunked. */
  length: number | null;
  contentType: string;
  disposition: string;
  contentEncoding: string;
  /** Ends the connection, whatever is still to come. */
  close: () => void;
}

/**
 * GETs a file without any credential, and without touching its bytes (`fetch` would unpack a compressed answer).
 *
 * @param address what stage 3 answered; a secret.
 * @throws RunError `DownloadUrlRejected`, `DownloadLinkExpired`, `RateLimited`, `CrmUnavailable`, `FileRejected`
 */
export async function openFile(address: string, options: OpenOptions): Promise<RemoteFile> {
  let url = checkFileUrl(address, options.local);
  for (let hop = 0; hop <= REDIRECTS; hop += 1) {
    const response = await get(url, options);
    const location = redirectOf(response);
    if (!location) return remoteFile(response);
    response.destroy();
    url = checkFileUrl(location, options.local, url);
  }
  throw new RunError('DownloadUrlRejected', `The address of the file leads through more than ${REDIRECTS} redirects.`);
}

function get(url: URL, { signal, idleMs = IDLE_MS }: OpenOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, { signal, headers: { 'accept-encoding': 'identity', accept: '*/*' } }, resolve);
    sent.setTimeout(idleMs, () => sent.destroy(new Error(`no byte for ${idleMs / 1000} seconds`)));
    sent.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : error.name;
      reject(
        new RunError('CrmUnavailable', `The file server of the service did not answer (${code}).`, { cause: error }),
      );
    });
    sent.end();
  });
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined;
}

function remoteFile(response: IncomingMessage): RemoteFile {
  const { statusCode: status = 0, headers } = response;
  if (status !== 200) {
    response.destroy();
    throw refusal(status, headers['retry-after']);
  }
  if (headers['content-length'] === undefined && !/\bchunked$/i.test(headers['transfer-encoding'] ?? '')) {
    response.destroy();
    throw new RunError('FileRejected', 'The file came without a length: whether it is whole cannot be known.');
  }
  return {
    body: response,
    length: headers['content-length'] === undefined ? null : Number(headers['content-length']),
    contentType: headers['content-type'] ?? '',
    disposition: headers['content-disposition'] ?? '',
    contentEncoding: headers['content-encoding'] ?? '',
    close: () => response.destroy(),
  };
}

/** Expired links are answered 403, 410, 400 or 404, depending on the store behind them: a fresh link is asked for. */
function refusal(status: number, retryAfter: string | undefined): RunError {
  const what = `The GET of the file was answered ${status}.`;
  const wait = { retryAfterSeconds: retryAfterSeconds(new Headers(retryAfter ? { 'retry-after': retryAfter } : {})) };
  if (status === 429) return new RunError('RateLimited', what, wait);
  if (status >= 500 || status === 408) return new RunError('CrmUnavailable', what, wait);
  if (status >= 400) return new RunError('DownloadLinkExpired', what);
  return new RunError('FileRejected', `${what} 200 was due.`);
}
