import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type Agent, agentFor, send } from '../base/http.ts';
import type { RequestContext } from '../base/retry.ts';
import { retryAfterSeconds } from '../base/retry-after.ts';
import { RetryableError, TransferError } from '../base/transfer-errors.ts';
import type { FileHead, SourcePolicy } from '../base/types.ts';
import { Blocks } from './blocks.ts';
import { Body } from './body.ts';
import { meaningOfFile, type Range, type Refusal, receivedRange } from './file-answers.ts';
import { checkAddress, guardedLookup } from './guard.ts';

const REDIRECTS = 3;
const ORIGIN = 'The file server of the CRM';
const CHANGED = 'The file at the origin has changed.';
const NO_LENGTH = 'The file has no declared length and may be cut. If this is usual, set files.allowUndeclaredEnd.';

/** The origin of the file. */
export interface Source extends RequestContext {
  link: Link;
  policy: SourcePolicy;
  agents: { https: Agent; http: Agent };
  blocks: Blocks;
  /** Whether a body may have neither a length nor chunks, so that only the closed connection marks its end. */
  allowUndeclaredEnd: boolean;
  close: () => void;
}

/** The origin that a link leads to, with connections that end with their bodies. Close it at the end. */
export function sourceOf(
  link: Link,
  { policy, allowUndeclaredEnd }: Pick<Source, 'policy' | 'allowUndeclaredEnd'>,
  context: RequestContext,
): Source {
  const ends = { lookup: guardedLookup(policy), keepAlive: false };
  const agents = { https: agentFor('https:', ends), http: agentFor('http:', ends) };
  const close = () => {
    for (const agent of Object.values(agents)) agent.destroy();
  };
  return { ...context, link, policy, allowUndeclaredEnd, agents, blocks: new Blocks(), close };
}

/** The response to a GET, before its body is read. */
export interface Opened {
  body: Body;
  head: FileHead;
  /** The strong ETag of a file that comes in ranges; `null` if there is none. */
  etag: string | null;
  range: Range | undefined;
  /** The bytes of this body; `to` is `null` if only the end of the body shows it. */
  from: number;
  to: number | null;
  /** The response holds less than was requested and less than the file has. */
  short: boolean;
  /** The response has neither a length nor chunks: the end of the connection is the end of the body. */
  undeclaredEnd: boolean;
}

/**
 * GETs a range of the file, or the whole file, without any credential.
 * @param etag the ETag that the file must still have (`If-Match`)
 * @throws RetryableError; TransferError `changed`, `address-rejected`
 */
export async function openSource(source: Source, range: Range | undefined, etag: string | null): Promise<Opened> {
  const address = await source.link.current(source.signal);
  const { response, body } = await follow(source, address, headersFor(range, etag));
  const { statusCode: status = 0, headers } = response;
  const meaning = meaningOfFile({ status, headers, range, etag });
  if (meaning === 'ask whole') {
    response.destroy();
    return openSource(source, undefined, null);
  }
  try {
    if (meaning === 'file' || meaning === 'empty') {
      const described = describe(source, response, range, etag, meaning === 'empty');
      body.begin(described.to === null ? null : described.to - described.from);
      return { ...described, body };
    }
    if (meaning === 'link-expired') source.link.expire(address);
    throw refusal(response, meaning);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/** GETs a range, or all, of a file, and checks its size, if it is known. */
export async function openSized(
  source: Source,
  range: Range | undefined,
  etag: string | null,
  size: number | null,
): Promise<Opened> {
  const opened = await openSource(source, range, etag);
  if (size !== null && opened.head.length !== size) {
    opened.body.close();
    throw new TransferError('changed', 'The file at the origin has another size than before.');
  }
  return opened;
}

function headersFor(range: Range | undefined, etag: string | null): Record<string, string> {
  return {
    accept: '*/*',
    'accept-encoding': 'identity',
    ...(range && { range: `bytes=${range.from}-${range.to - 1}` }),
    ...(etag !== null && { 'if-match': etag }),
  };
}

/** Checks every redirect as it checks the first address. */
async function follow(source: Source, address: string, headers: Record<string, string>) {
  let url = checkAddress(address, source.policy);
  for (let hop = 0; hop <= REDIRECTS; hop += 1) {
    const agent = url.protocol === 'https:' ? source.agents.https : source.agents.http;
    const body = new Body(source, source.blocks);
    const { onread } = body;
    const sent = send(url, { side: 'source', method: 'GET', headers, agent, context: source, peer: ORIGIN, onread });
    body.attach(sent.request);
    sent.request.end();
    const response = await sent.response;
    const { location: header = '' } = response.headers;
    // Node.js reads headers as Latin-1, but an address may be in UTF-8.
    const bytes = Buffer.from(header, 'latin1');
    const location = isUtf8(bytes) ? bytes.toString() : header;
    if (!location || ![301, 302, 303, 307, 308].includes(response.statusCode ?? 0)) {
      return { response, body };
    }
    response.destroy();
    url = checkAddress(location, source.policy, url, hop + 1);
  }
  const message = `The address of the file leads through more than ${REDIRECTS} redirects.`;
  throw new TransferError('address-rejected', message);
}

function describe(
  source: Source,
  { headers, statusCode }: IncomingMessage,
  range: Range | undefined,
  etag: string | null,
  isEmpty: boolean,
): Omit<Opened, 'body'> {
  const found = strongEtag(headers.etag);
  // A file that has lost its strong ETag cannot be distinguished from a changed file.
  if (etag !== null && found !== etag) throw new TransferError('changed', CHANGED);
  const received = statusCode === 206 ? receivedRange({ headers, range }) : undefined;
  const declared = isEmpty ? '0' : headers['content-length'];
  const length = declared === undefined ? null : Number(declared);
  const { from, to, total } = received ?? { from: 0, to: length, total: length };
  const chunked = /\bchunked$/i.test(headers['transfer-encoding'] ?? '');
  const undeclaredEnd = statusCode === 200 && to === null && !chunked;
  if (undeclaredEnd && !source.allowUndeclaredEnd) throw new TransferError('refused', NO_LENGTH);
  const head = { length: total, contentType: headers['content-type'] ?? '' };
  const short = received !== undefined && received.to < Math.min(range?.to ?? received.total, received.total);
  return { head, etag: received && range ? found : null, range, from, to, short, undeclaredEnd };
}

function strongEtag(etag: string | undefined): string | null {
  return etag && /^"[\x21\x23-\x7e]{1,200}"$/.test(etag) ? etag : null;
}

function refusal({ statusCode, headers }: IncomingMessage, meaning: Refusal): TransferError {
  if (meaning === 'changed') return new TransferError('changed', CHANGED);
  // A wrong range counts as a changed file. After several of them, the reader requests the file in one piece.
  if (meaning === 'another range') return new RetryableError('changed', 'The file server did not send the range.');
  const wait = { retryAfterSeconds: retryAfterSeconds(headers['retry-after'], headers.date) };
  return new RetryableError(meaning, `The GET of the file was answered ${statusCode}.`, wait);
}

/** The address of the file, requested once for all connections, and again when one of them finds it expired. */
export class Link {
  readonly #request: () => Promise<string>;
  readonly #ended = Promise.withResolvers<never>();
  #pending: Promise<string> | undefined;
  #address: string | undefined;

  /** @param end fires shortly before the process ends */
  constructor(request: () => Promise<string>, end: AbortSignal) {
    this.#request = request;
    this.#ended.promise.catch(() => undefined);
    end.addEventListener('abort', () => this.#ended.reject(end.reason), { once: true });
  }

  /**
   * Only the end of the process ends this wait: a request may be refreshing a token, and an earlier answer of the
   * invocation would freeze it.
   * @throws the error of the request, or the signal's reason if it has fired before
   */
  async current(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#pending ??= this.#request().then((address) => {
      this.#address = address;
      return address;
    });
    return Promise.race([this.#pending, this.#ended.promise]);
  }

  /** Makes the next caller request a fresh address, unless this address has been replaced already. */
  expire(address: string): void {
    if (this.#address !== address) return;
    this.#address = undefined;
    this.#pending = undefined;
  }
}
