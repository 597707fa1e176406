import type { ClientRequest, IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { RetryableError } from './retry.ts';
import type { TransferReason } from './transfer-error.ts';
import type { Limits } from './types.ts';

/** Blocks of this size pass from one socket to the other: fewer, larger writes cost less CPU. */
const BLOCK_BYTES = 256 * 1024;

export type Agent = InstanceType<typeof https.Agent>;

/**
 * `node:http` is asked for only where an address on the local machine needs it: imported the ordinary way it loads a second
 * HTTP client, 31 ms of a cold start (measured, docs/adr/0014).
 *
 * The cast: `request` and `Agent`, all that is used here, have the same shape in both modules, but no common type.
 */
function moduleFor(protocol: string): typeof https {
  return protocol === 'https:' ? https : (process.getBuiltinModule('node:http') as unknown as typeof https);
}

/** Connections of one side, kept alive between requests. */
export function agentFor(protocol: string, options: { lookup?: RequestOptions['lookup'] } = {}): Agent {
  return new (moduleFor(protocol).Agent)({
    keepAlive: true,
    noDelay: true,
    highWaterMark: BLOCK_BYTES,
    ...options,
  } as ConstructorParameters<typeof https.Agent>[0]);
}

/**
 * What went wrong with a request after its answer had begun. Bytes behind the declared end of a body are found by the
 * parser, which tells the request and not the body.
 */
export const lateFailures = new WeakMap<IncomingMessage, Error>();

export interface Sending {
  method: string;
  headers: Record<string, string>;
  agent: Agent;
  signal: AbortSignal;
  limits: Limits;
  /** Who does not answer, for the message. */
  who: string;
  reason: TransferReason;
  answerMs?: number;
}

export interface Sent {
  request: ClientRequest;
  /** The answer with its headers. @throws RetryableError */
  answer: Promise<IncomingMessage>;
}

/**
 * Begins a request; the caller writes its body and ends it. The answer is waited for as long as nothing of the body is
 * left to write, so a long upload is not taken for silence.
 */
export function send(url: URL, { method, headers, agent, signal, limits, who, reason, answerMs }: Sending): Sent {
  const request = moduleFor(url.protocol).request(url, { method, headers, agent, signal });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    const timers = new Set<NodeJS.Timeout>();
    const within = (ms: number, what: string) => {
      const timer = setTimeout(() => request.destroy(new Error(`${what} within ${ms / 1000} seconds`)), ms);
      timers.add(timer);
      return () => clearTimeout(timer);
    };
    const settle = () => {
      for (const timer of timers) clearTimeout(timer);
    };
    request.once('socket', (socket) => {
      if (!socket.connecting) return;
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', within(limits.connectMs, 'no connection'));
    });
    // What the other side does not take is never finished, and no answer would be due.
    request.setTimeout(limits.idleMs, () => {
      if (request.writableEnded && !request.writableFinished) {
        request.destroy(new Error(`nothing was taken within ${limits.idleMs / 1000} seconds`));
      }
    });
    request.once('finish', () => within(answerMs ?? limits.firstByteMs, 'no answer'));
    request.once('response', (response) => {
      settle();
      request.on('error', (error) => lateFailures.set(response, error));
      resolve(response);
    });
    request.on('error', (error) => {
      settle();
      reject(signal.aborted ? signal.reason : failureOf(error, who, reason));
    });
    request.once('close', () => {
      settle();
      reject(
        signal.aborted ? signal.reason : new RetryableError(reason, `${who} closed the connection without an answer.`),
      );
    });
  });
  // Whoever waits for it gets the failure; nobody may be waiting yet.
  answer.catch(() => undefined);
  return { request, answer };
}

/** Trouble of a connection, without the address that messages of the platform may hold. */
function failureOf(error: unknown, who: string, reason: TransferReason): unknown {
  // What a lookup refuses passes through as it is.
  if (!(error instanceof Error) || error.name === 'TransferError') return error;
  const code =
    'code' in error ? String(error.code) : /within [\d.]+ seconds$/.test(error.message) ? error.message : error.name;
  return new RetryableError(reason, `${who} did not answer (${code}).`, { cause: error });
}
