import ky, { type KyInstance } from 'ky';
import type * as z from 'zod/mini';
import type { Log } from '../log.ts';
import type { AccessToken, GetAccessToken } from '../oauth/access-token.ts';
import { retryAfterSeconds } from '../retry-after.ts';
import { readJson } from './answers.ts';
import type { Call } from './call.ts';
import { notReached, refusal } from './refusals.ts';

/** One attempt, answer and body included. Exports are made in the background, so every call of the interface is short. */
const TIMEOUT_MS = 30_000;

/** The service's interface: one method, every resource file (`exports.ts`, `fields.ts`) is made of it. */
export interface CrmClient {
  /**
   * Makes one call and parses its JSON answer. A 401 refreshes the token once and repeats the call once; a 403 repeats it
   * once where a person has authorized since the token was read.
   * @throws RunError `AuthRefused`, `RateLimited`, `CrmUnavailable`, `CreateUnanswered`, `CrmRejectedRequest`,
   *   `ExportNotFound`, `CrmContractError`, and whatever `GetAccessToken` throws.
   * @param onRetryAfter told when the answer, a good one too, asks for a wait before the next call, in seconds.
   */
  call<T>(call: Call, schema: z.core.$ZodType<T>, onRetryAfter?: (seconds: number) => void): Promise<T>;
}

interface ClientDeps {
  baseUrl: string;
  getAccessToken: GetAccessToken;
  log: Log;
  now: () => Date;
  /** Told of every request. */
  count?: () => void;
}

export function createCrmClient(deps: ClientDeps): CrmClient {
  const http = ky.create({
    baseUrl: `${deps.baseUrl.replace(/\/+$/, '')}/`,
    // A redirect would carry the credentials to an address that nobody configured.
    redirect: 'manual',
    throwHttpErrors: false,
    timeout: false,
    // The machine's Wait states repeat; ky only covers a kept-alive connection that the server has just closed.
    retry: { limit: 1, methods: ['get'], backoffLimit: 1000, jitter: true },
  });
  return {
    call: async (call, schema, onRetryAfter) => {
      let token = await deps.getAccessToken();
      let response = await send(http, call, token, deps);
      if (response.status === 401) {
        await response.body?.cancel().catch(() => undefined);
        token = await deps.getAccessToken({ rejected: token.accessToken });
        response = await send(http, call, token, deps);
      }
      if (response.status === 403) {
        const newer = await deps.getAccessToken({ reread: token.accessToken });
        // What was refused was not done: it may be sent again, the creation of an export too.
        if (newer.accessToken !== token.accessToken) {
          await response.body?.cancel().catch(() => undefined);
          token = newer;
          response = await send(http, call, token, deps);
        }
      }
      if (!response.ok) throw await refusal(response, call, token, deps.now());
      const wait = retryAfterSeconds(response.headers, deps.now());
      if (wait !== undefined) onRetryAfter?.(wait);
      return readJson(response, call, schema);
    },
  };
}

async function send(http: KyInstance, call: Call, token: AccessToken, deps: ClientDeps): Promise<Response> {
  const started = performance.now();
  deps.count?.();
  try {
    const response = await http(call.path, {
      method: call.method,
      headers: { authorization: `Bearer ${token.accessToken}`, accept: 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(call.json === undefined ? {} : { json: call.json }),
    });
    const milliseconds = Math.round(performance.now() - started);
    deps.log.info('called', { method: call.method, path: call.template, status: response.status, milliseconds });
    return response;
  } catch (error) {
    throw notReached(error, call);
  }
}
