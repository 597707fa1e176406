import type { ClientRequest, IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import type { OnReadOpts } from 'node:net';
import type { RequestContext } from './retry.ts';
import { RetryableError, TransferError } from './transfer-errors.ts';

/** Block size for passing bytes from one socket to the other. Fewer, larger writes cost less CPU. */
const BLOCK_BYTES = 256 * 1024;

export type Agent = InstanceType<typeof https.Agent>;

/**
 * `node:http` is loaded only for an address on the local machine: an ordinary import loads a second HTTP client, 31 ms of a
 * cold start (docs/adr/0014). The cast: `request` and `Agent` have the same shape in both modules, but no common type.
 */
function moduleFor(protocol: string): typeof https {
  return protocol === 'https:' ? https : (process.getBuiltinModule('node:http') as unknown as typeof https);
}

/** The connection pool of one side. By default it keeps connections alive between requests. */
export function agentFor(
  protocol: string,
  options: { lookup?: RequestOptions['lookup']; keepAlive?: boolean } = {},
): Agent {
  return new (moduleFor(protocol).Agent)({
    keepAlive: true,
    noDelay: true,
    highWaterMark: BLOCK_BYTES,
    ...options,
  } as ConstructorParameters<typeof https.Agent>[0]);
}

export interface SendOptions {
  side: 'source' | 'store';
  method: string;
  headers: Record<string, string>;
  agent: Agent;
  context: RequestContext;
  /** The name of the other side in messages. */
  peer: string;
  responseMs?: number | undefined;
  /** Makes a new connection read into this buffer instead of a stream. */
  onread?: OnReadOpts | undefined;
}

export interface SentRequest {
  request: ClientRequest;
  /** The response with its headers. @throws RetryableError */
  response: Promise<IncomingMessage>;
}

/** Begins a request; the caller writes its body and ends it. The response is timed from the end of the body. */
export function send(url: URL, options: SendOptions): SentRequest {
  const { side, method, headers, agent, context, peer, responseMs, onread } = options;
  const { signal, limits, count } = context;
  count?.(side);
  // The agent passes unknown options on to the connection.
  const request = moduleFor(url.protocol).request(url, { method, headers, agent, signal, ...(onread && { onread }) });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const clear = () => clearTimeout(timer);
    const expect = (what: string, ms: number) => {
      timer = setTimeout(() => request.destroy(new Error(`${what} within ${ms / 1000} seconds`)), ms);
    };
    const fail = (error: () => unknown) => {
      clear();
      reject(signal.aborted ? signal.reason : error());
    };
    request.once('socket', (socket) => {
      if (!socket.connecting) return;
      expect('no connection', limits.connectMs);
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', clear);
    });
    // If the other side stops taking the body, the request never finishes and the response timer never starts.
    request.setTimeout(limits.idleMs, () => {
      if (request.writableNeedDrain || (request.writableEnded && !request.writableFinished)) {
        request.destroy(new Error(`no bytes were accepted for ${limits.idleMs / 1000} seconds`));
      }
    });
    request.once('finish', () => expect('no answer', responseMs ?? limits.firstByteMs));
    request.once('response', (message) => {
      clear();
      resolve(message);
    });
    request.on('error', (error) => fail(() => failureOf(error, side, peer)));
    request.once('close', () =>
      fail(() => new RetryableError(`${side}-unavailable`, `${peer} closed the connection without an answer.`)),
    );
  });
  // A caller that waits for `response` gets the failure. This handler covers a caller that does not wait yet.
  response.catch(() => undefined);
  return { request, response };
}

/** The failure of a connection, without the address that Node's message may contain. */
function failureOf(error: unknown, side: SendOptions['side'], peer: string): unknown {
  // An error of the lookup passes through unchanged.
  if (!(error instanceof Error) || error instanceof TransferError) return error;
  const ours = / within [\d.]+ seconds$/.test(error.message);
  const code = 'code' in error ? String(error.code) : ours ? error.message : error.name;
  return new RetryableError(`${side}-unavailable`, `${peer} did not answer (${code}).`, { cause: error });
}
