import ky, { type KyInstance } from 'ky';
import type * as z from 'zod/mini';
import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';
import { RunError, type RunErrorName } from '../errors.ts';
import { codeOf, isUntrusted, neverSent } from '../http/network-errors.ts';
import { wholeAnswer } from '../http/whole-answer.ts';
import type { Log } from '../log/log.ts';
import type { AccessToken, GetAccessToken } from '../oauth/access-token.ts';
import { type CrmAnswer, type Meaning, meaningOf, parsedBody, readAnswer } from './answers.ts';
import { type CrmCall, nameOf, requestOf } from './call.ts';

const TIMEOUT_MS = 30_000;
const LARGEST_ANSWER_BYTES = 5_000_000;
/** Seconds of an invocation that are reserved for its work after the answer. */
const MARGIN_SECONDS = 5;

export interface CrmClient {
  /**
   * Makes one call and parses its JSON answer. After a 401, it refreshes the token and repeats the call once. After a
   * 403, it repeats the call once if a person has authorized again.
   * @throws RunError the errors of the table in `answers.ts`, and those of `GetAccessToken`
   * @param onRetryAfter called with the seconds of `Retry-After`, even after a successful answer
   */
  call<T>(call: CrmCall, schema: z.core.$ZodType<T>, onRetryAfter?: (seconds: number) => void): Promise<T>;
}

/** How a call ended. After a 401 or 403, `error` may say why the call was not repeated. */
interface Exchange extends Meaning {
  /** `undefined` if the CRM did not answer. */
  answer: CrmAnswer | undefined;
  token: AccessToken;
}

/** Makes calls and returns refusals as results, not as errors. */
export interface CrmExchange {
  /**
   * Makes one call like `CrmClient.call`, and returns how it ended.
   * @throws RunError if no request was sent: `CrmUnavailable`, and the errors of `GetAccessToken`; `CrmContractError`
   *   if the token cannot be sent in a header; `TokenRefreshInProgress` if no time was left after the wait for a token
   */
  exchange(call: CrmCall): Promise<Exchange>;
}

interface ClientDeps {
  baseUrl: string;
  getAccessToken: GetAccessToken;
  log: Log;
  now: () => Date;
  /** Called for every request. */
  count?: () => void;
  /** Aborts a request that has no answer yet. */
  signal?: AbortSignal;
}

/** The settings of one client; `baseUrl` ends in a slash. */
interface Connected extends ClientDeps {
  http: KyInstance;
}

export function createCrmClient(clientDeps: ClientDeps): CrmClient & CrmExchange {
  const baseUrl = `${clientDeps.baseUrl.replace(/\/+$/, '')}/`;
  const http = ky.create({
    baseUrl,
    // A redirect is not followed, because it would send the credentials to an address that is not configured.
    redirect: 'manual',
    throwHttpErrors: false,
    timeout: false,
    // One retry, for a kept-alive connection that the server has just closed. The Wait states of the workflow handle
    // longer outages.
    retry: { limit: 1, methods: ['get'], backoffLimit: 1000, jitter: true },
  });
  const deps = { ...clientDeps, baseUrl, http };
  return {
    call: async (call, schema, onRetryAfter) => {
      const { answer, error } = await exchange(call, deps);
      if (error || !answer) throw error;
      const { headers } = answer;
      const wait = retryAfterSeconds(headers.get('retry-after'), headers.get('date'), deps.now());
      if (wait !== undefined) onRetryAfter?.(wait);
      return parsedBody(answer, call, schema);
    },
    exchange: (call) => exchange(call, deps),
  };
}

async function exchange(call: CrmCall, deps: Connected): Promise<Exchange> {
  const timely: Connected = {
    ...deps,
    getAccessToken: async (options) => {
      refuseLate(call, 'CrmUnavailable', 'Earlier work');
      const token = await deps.getAccessToken(options);
      if (!SENDABLE.test(token.accessToken)) {
        const what = 'The access token that the CRM issued has a character that is not allowed in a header';
        throw new RunError('CrmContractError', `${what}: ${nameOf(call)} was not sent.`);
      }
      refuseLate(call, 'TokenRefreshInProgress', 'The wait for a token');
      return token;
    },
  };
  const began = deps.now().getTime();
  const first = await send(call, await timely.getAccessToken(), timely);
  const second = await repeated(first, 401, call, timely);
  // The newer token may come from the secret, and the CRM may have ended it too. A token issued since is not replaced.
  const isStored = second.token !== first.token && Date.parse(second.token.obtainedAt ?? '') < began;
  const last = isStored ? await repeated(second, 401, call, timely) : second;
  return repeated(last, 403, call, timely);
}

/** If there is another token, repeats a refused call. The CRM did not process it, so repeating a create is safe. */
async function repeated(refused: Exchange, status: 401 | 403, call: CrmCall, deps: Connected): Promise<Exchange> {
  if (refused.answer?.status !== status) return refused;
  const { accessToken } = refused.token;
  try {
    const newer = await deps.getAccessToken(status === 401 ? { rejected: accessToken } : { reread: accessToken });
    return newer.accessToken === accessToken ? refused : await send(call, newer, deps);
  } catch (error) {
    if (error instanceof RunError) return { ...refused, error };
    throw error;
  }
}

/** @throws RunError `CrmUnavailable` if the request was not sent */
async function send(call: CrmCall, token: AccessToken, deps: Connected): Promise<Exchange> {
  const started = performance.now();
  deps.count?.();
  const { method, template, path } = requestOf(call);
  const options = {
    method,
    headers: { authorization: `Bearer ${token.accessToken}`, accept: 'application/json' },
    ...(call.json === undefined ? {} : { json: call.json }),
  };
  const limits = { milliseconds: call.timeoutMs ?? TIMEOUT_MS, bytes: LARGEST_ANSWER_BYTES };
  const until = (late: AbortSignal) => (deps.signal ? AbortSignal.any([late, deps.signal]) : late);
  const sent = wholeAnswer((late) => deps.http(path, { ...options, signal: until(late) }), limits);
  const whole = await sent.catch((error: unknown) => {
    const lost = notReached(error, call);
    if (neverSent(error)) throw lost;
    return lost;
  });
  if (whole instanceof RunError) return { answer: undefined, outcome: 'unknown', error: whole, token };
  const called = new URL(path, deps.baseUrl).pathname;
  const answer = readAnswer(whole, { call, accessToken: token.accessToken }, called);
  const { status, code } = answer;
  const milliseconds = Math.round(performance.now() - started);
  deps.log.info('called', { method, path: template, status, code, milliseconds });
  return { answer, ...meaningOf({ call, answer, scope: token.scope }, deps.now()), token };
}

/** The error of a call without an answer: the request was not sent, or the answer was lost. */
export function notReached(error: unknown, call: CrmCall): RunError {
  const code = codeOf(error);
  if (neverSent(error)) {
    const what = isUntrusted(code ?? '')
      ? `the certificate of the CRM at crm.baseUrl is not trusted (${code})`
      : `no connection to the CRM at crm.baseUrl (${code})`;
    return new RunError('CrmUnavailable', `${nameOf(call)}: ${what}.`, { cause: error });
  }
  const reason = code ?? (error instanceof Error ? error.name : 'unknown');
  const name = call.operation === 'create' ? 'CreateUnanswered' : 'CrmUnavailable';
  return new RunError(name, `${nameOf(call)} got no answer (${reason}).`, { cause: error });
}

/** Matches tokens that can be sent in a header. The token endpoint may return any text as a token. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]+$/;

/** @throws RunError if a call may outlast the invocation: Lambda would end it, and its result would be unknown */
function refuseLate(call: CrmCall, name: RunErrorName, reason: string): void {
  const { timeoutMs = TIMEOUT_MS, secondsLeft } = call;
  if (!secondsLeft || secondsLeft() >= timeoutMs / 1000 + MARGIN_SECONDS) return;
  const late = `${reason} left too little time in this invocation for ${nameOf(call)}, so it was not sent.`;
  throw new RunError(name, `${late} The next invocation will send it.`);
}
