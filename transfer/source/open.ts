import type { IncomingMessage } from 'node:http';
import { type Agent, send } from '../base/http.ts';
import { type RequestContext, RetryableError, StartOver } from '../base/retry.ts';
import { TransferError } from '../base/transfer-error.ts';
import type { FileHead, SourcePolicy } from '../base/types.ts';
import { checkAddress } from './guard.ts';
import type { Link } from './link.ts';

const REDIRECTS = 3;
/** Only what looks like a date is parsed as one: `Date.parse` reads "try 2099" as well. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i;
const ORIGIN = 'The file server of the service';

/** The side that the file comes from. */
export interface Source extends RequestContext {
  link: Link;
  policy: SourcePolicy;
  agents: { https: Agent; http: Agent };
  /** Whether a body may end with nothing but its connection. */
  allowUndeclaredEnd: boolean;
}

/** Which bytes are asked for: from one up to, not including, another (`null` = the end); `undefined` = the file as such. */
export interface Range {
  from: number;
  to: number | null;
}

/** An answered GET, of which nothing has been read yet. */
export interface Opened {
  body: IncomingMessage;
  head: FileHead;
  /** The strong ETag; `null` where there is none. */
  etag: string | null;
  /** The bytes that this body holds; `to` is `null` when only its end will tell. */
  from: number;
  to: number | null;
  /** It is less than was asked for, and than there is. */
  short: boolean;
  ranged: boolean;
  /** Neither a length nor chunks: the end of the connection is the end of the body. */
  undeclaredEnd: boolean;
}

/**
 * GETs the file, or a range of it, without any credential and without touching its bytes.
 *
 * @param etag what the file must still be (`If-Match`).
 * @throws RetryableError worth another attempt; StartOver when the file is another than before; TransferError `address-rejected`.
 */
export async function openSource(source: Source, range: Range | undefined, etag: string | null): Promise<Opened> {
  const address = await source.link.current(source.signal);
  const response = await follow(source, address, headersFor(range, etag));
  const { statusCode: status = 0 } = response;
  if (status === 200 || status === 206) return describe(source, response, range, etag);
  response.destroy();
  if (status === 412) throw new StartOver('The file at the origin is another than before.');
  if (status === 416) throw outOfRange(response, range);
  throw refusal(source, address, response);
}

function headersFor(range: Range | undefined, etag: string | null): Record<string, string> {
  return {
    accept: '*/*',
    'accept-encoding': 'identity',
    ...(range && { range: `bytes=${range.from}-${range.to === null ? '' : range.to - 1}` }),
    ...(etag !== null && { 'if-match': etag }),
  };
}

/** Every hop passes the same gate as the first address. */
async function follow(source: Source, address: string, headers: Record<string, string>): Promise<IncomingMessage> {
  let url = checkAddress(address, source.policy);
  for (let hop = 0; hop <= REDIRECTS; hop += 1) {
    const agent = url.protocol === 'https:' ? source.agents.https : source.agents.http;
    const { signal, limits } = source;
    const to = { method: 'GET', headers, agent, signal, limits, who: ORIGIN, reason: 'source-unavailable' } as const;
    source.count?.('source');
    const { request, answer } = send(url, to);
    request.end();
    const response = await answer;
    const location = redirectOf(response);
    if (!location) return response;
    response.destroy();
    url = checkAddress(location, source.policy, url, hop + 1);
  }
  throw new TransferError(
    'address-rejected',
    `The address of the file leads through more than ${REDIRECTS} redirects.`,
  );
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined;
}

function describe(source: Source, body: IncomingMessage, range: Range | undefined, etag: string | null): Opened {
  const { headers, statusCode } = body;
  try {
    const found = strongEtag(headers.etag);
    // One that had a strong ETag and has none now is no more the one that it was.
    if (etag !== null && found !== etag) {
      throw new StartOver('The file at the origin is another than before.');
    }
    const declared = headers['content-length'] === undefined ? null : Number(headers['content-length']);
    const place = statusCode === 206 ? partial(headers['content-range'], range, declared) : whole(range, declared);
    const head = {
      length: place.total,
      contentType: headers['content-type'] ?? '',
      disposition: headers['content-disposition'] ?? '',
      contentEncoding: headers['content-encoding'] ?? '',
    };
    const chunked = /\bchunked$/i.test(headers['transfer-encoding'] ?? '');
    const undeclaredEnd = statusCode === 200 && declared === null && !chunked;
    if (undeclaredEnd && !source.allowUndeclaredEnd) {
      throw new TransferError('refused', 'The file came without a length: whether it is whole cannot be known.');
    }
    return { body, head, etag: found, ...place, ranged: statusCode === 206, undeclaredEnd };
  } catch (error) {
    body.destroy();
    throw error;
  }
}

type Place = Pick<Opened, 'from' | 'to' | 'short'> & { total: number | null };

function whole(range: Range | undefined, length: number | null): Place {
  if (range && range.from > 0)
    throw new RetryableError('incomplete', 'The file server ignored the range that was asked for.');
  return { from: 0, to: length, short: false, total: length };
}

/** A range other than the one asked for would put bytes in the wrong place. */
function partial(contentRange: string | undefined, range: Range | undefined, declared: number | null): Place {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(contentRange ?? '');
  const [from, last, total] = match ? match.slice(1).map(Number) : [];
  const wrong = new RetryableError('incomplete', 'The file server sent another range than was asked for.');
  if (!range || from === undefined || last === undefined || total === undefined) throw wrong;
  const to = last + 1;
  if (from !== range.from || to > total || to <= from || (range.to !== null && to > range.to)) throw wrong;
  if (declared !== null && declared !== to - from) throw wrong;
  return { from, to, short: to < Math.min(range.to ?? total, total), total };
}

function strongEtag(etag: string | undefined): string | null {
  return etag && /^"[\x21\x23-\x7e]{1,200}"$/.test(etag) ? etag : null;
}

/** 416 with a total of 0 is an empty file; with any other it has shrunk. */
export class EmptyFile extends Error {}

function outOfRange({ headers }: IncomingMessage, range: Range | undefined): Error {
  const empty = range?.from === 0 && headers['content-range'] === 'bytes */0';
  return empty ? new EmptyFile() : new StartOver('The file at the origin is shorter than before.');
}

/** Expired links are answered 403, 410, 400, 401 or 404, depending on the store behind them: a fresh link is asked for. */
function refusal(source: Source, address: string, response: IncomingMessage): RetryableError {
  const { statusCode: status = 0, headers } = response;
  const what = `The GET of the file was answered ${status}.`;
  const retryAfterSeconds = secondsOf(headers['retry-after']);
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status === 429) return new RetryableError('rate-limited', what, wait);
  if (status >= 500 || status === 408) return new RetryableError('source-unavailable', what, wait);
  if (status >= 400) {
    source.link.expired(address);
    return new RetryableError('link-expired', what);
  }
  return new RetryableError('refused', `${what} 200 or 206 was due.`);
}

function secondsOf(retryAfter: string | undefined): number | undefined {
  if (!retryAfter) return undefined;
  if (/^\d{1,9}$/.test(retryAfter.trim())) return Number(retryAfter);
  const date = HTTP_DATE.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}
