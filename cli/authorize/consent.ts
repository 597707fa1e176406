import { createHash } from 'node:crypto';
import { addAbortListener } from 'node:events';
import type { OAuthClient } from '../../core/oauth/secrets.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import type { Input } from '../support/hidden-input.ts';
import type { Expected } from './authorization-answer.ts';
import { listenForCallback } from './callback-listener.ts';
import { promptForPaste } from './paste-prompt.ts';
import type { Callback } from './redirect-uri.ts';

/** Where an answer is waited for. */
export interface Waiting {
  redirectUri: string;
  listening: boolean;
}

export interface ConsentOptions {
  /** Default: five minutes. */
  timeoutSeconds?: number | undefined;
  /** Where the answer may be pasted. */
  paste?: Input | undefined;
  /** Shows the address to the person who is to consent, or opens it; what it throws ends the authorization. */
  onUrl: (url: string, waiting: Waiting) => unknown;
  signal?: AbortSignal | undefined;
}

/**
 * The code of a person who consented, by the browser or by paste, whichever comes first.
 * @throws CommandError at a refusal, when the paste ends and nothing listens, or when the time is over
 */
export async function consent(
  client: OAuthClient,
  callback: Callback,
  expected: Expected,
  verifier: string,
  { onUrl, paste, timeoutSeconds = 300, signal }: ConsentOptions,
): Promise<{ code: string; redirectUri: string }> {
  const listener = callback.hosts.length > 0 ? await listenForCallback(expected, callback) : undefined;
  const redirectUri = listener?.redirectUri ?? callback.uriAt(callback.port);
  const url = authorizationUrl(expected, client.clientId, redirectUri, verifier);
  const prompt = paste && promptForPaste(expected, paste);
  const { promise: over, reject } = Promise.withResolvers<never>();
  const wrong = `If the browser showed no page of the CRM, correct crm.authUrl (${expected.crm.authUrl}) in ${expected.configuration} and deploy.`;
  const fail = (sentence: string) => reject(new CommandError(`${sentence} ${wrong}`, RUN_FAILED));
  const late = `Nobody came back from the CRM within ${timeoutSeconds} seconds. Nothing was stored.`;
  const timer = setTimeout(() => fail(late), timeoutSeconds * 1000);
  const aborting = signal && addAbortListener(signal, () => reject(signal.reason));
  Promise.resolve()
    .then(() => onUrl(url, { redirectUri, listening: listener !== undefined }))
    .catch(reject);
  if (!listener) void prompt?.ended.then(() => fail('Nothing was pasted, and nothing was stored.'));
  try {
    const codes = [listener?.code, prompt?.code].filter((code) => code !== undefined);
    return { code: await Promise.race([over, ...codes]), redirectUri };
  } finally {
    clearTimeout(timer);
    aborting?.[Symbol.dispose]();
    prompt?.close();
    listener?.close();
  }
}

function authorizationUrl({ crm, state }: Expected, clientId: string, redirectUri: string, verifier: string): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: crm.scopes.join(' '),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `${crm.authUrl.replace(/\/$/, '')}/authorize?${query}`;
}
