import { createHash, timingSafeEqual } from 'node:crypto';
import { addAbortListener, once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import type { Deployment } from '../../core/config/deployment.ts';
import { UPDATE_SCOPE } from '../../core/config/scopes.ts';
import type { OAuthClient } from '../../core/oauth/secrets.ts';
import { errorWord } from '../../core/oauth/token-answers.ts';
import { hiddenLines, type Input } from '../support/confirm.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';

/** Where the command waits for the redirect of the CRM. */
export interface Waiting {
  redirectUri: string;
  listening: boolean;
}

export interface ConsentOptions {
  /** Default: five minutes. */
  timeoutSeconds?: number | undefined;
  /** The input into which a person may paste the answer. */
  paste?: Input | undefined;
  /** Shows or opens the address of the consent page; an error that it throws ends the authorization. */
  onUrl: (url: string, waiting: Waiting) => unknown;
  signal?: AbortSignal | undefined;
}

/**
 * Waits until a person has consented, and returns the code that the browser brings or the person pastes.
 * @throws CommandError at a refusal, at a timeout, or when the paste ends and no listener runs
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

export interface CallbackListener {
  redirectUri: string;
  /** The code from the CRM. @throws CommandError when the person or the CRM refused. */
  code: Promise<string>;
  close(): void;
}

const STILL_WAITS = 'The command still waits. This window can be closed.';

/**
 * Listens on loopback for the redirect. A wrong `state` gets an error page, and the listener continues: a stray
 * request must not be able to end the authorization.
 * @throws CommandError (exit code 3) when the port is taken
 */
export async function listenForCallback(
  expected: Expected,
  { hosts, port: wanted, path, uriAt }: Callback,
): Promise<CallbackListener> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // A rejection before the caller awaits it must not end the process.
  code.catch(() => {});
  const answer: RequestListener = (request, response) => {
    const answer = answerIn(request, path, expected);
    showPage(response, pageOf(answer));
    // The caller closes the listener as soon as the promise settles, so the page is sent first.
    finished(response, () => {
      if (answer?.kind === 'refused') reject(answer.error);
      if (answer?.kind === 'code') resolve(answer.code);
    });
  };
  const servers: Server[] = [];
  const close = () => {
    for (const server of servers) server.close().closeAllConnections();
  };
  try {
    let port = wanted;
    for (const host of hosts) port = await listen(servers, answer, port, host);
    return { redirectUri: uriAt(port), code, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** `undefined` for a request that is not an answer of the CRM. */
function answerIn(request: IncomingMessage, path: string, expected: Expected): ServiceAnswer | undefined {
  // Any program on this machine can send a request here, even with an invalid address.
  const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
  if (request.method !== 'GET' || url?.pathname !== path) return undefined;
  return judgeAnswer(url.searchParams, expected);
}

type Page = [status: number, heading: string, text: string];

function pageOf(answer: ServiceAnswer | undefined): Page {
  if (!answer) return [404, 'There is nothing here', STILL_WAITS];
  if (answer.kind === 'unusable') return [400, answer.why.replace(/\.$/, ''), STILL_WAITS];
  const [heading, what] =
    answer.kind === 'code'
      ? ['Authorized at the CRM', 'goes on and says what came of it']
      : ['The authorization was refused', 'says why'];
  return [200, heading, `The command in the terminal ${what}. This window can be closed.`];
}

/** Machines without IPv6 have no ::1: for `localhost`, 127.0.0.1 alone is enough there. */
const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

async function listen(servers: Server[], answer: RequestListener, port: number, host: string): Promise<number> {
  const server = createServer(answer).listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (servers.length > 0 && NO_SUCH_ADDRESS.has(code)) return port;
    const why = `The port ${port} on ${host} cannot be listened on (${message}): choose another with --port.`;
    throw new CommandError(why, ENVIRONMENT);
  }
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/** Sends a page without styles, scripts or any text from the request. */
function showPage(response: ServerResponse, [status, heading, text]: Page): void {
  response.writeHead(status, HEADERS);
  response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading} - CRM export</title>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${text}</p>
</main>
</body>
</html>
`);
}

/** Input that a person pasted, valid or not. */
type Pasted = ServiceAnswer & { note?: string };

const AGAIN = 'Paste the whole address to which the browser was sent, or the code in it, and press Enter.';

/**
 * Reads the answer of the CRM from a person whose browser cannot reach this machine: the redirect address or the bare
 * code. Asks again if it cannot parse the input.
 * @returns `code` rejects with a CommandError when the person or the CRM refused; `ended` settles when the input has
 *   ended or was understood; `code` stays pending at the end of the input, because the browser may still answer
 */
export function promptForPaste(expected: Expected, input: Input) {
  const lines = hiddenLines(input);
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  code.catch(() => {});
  const readUntilUnderstood = async () => {
    for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
      const pasted = understand(line, expected);
      if (pasted?.note) input.print(`${pasted.note}\n`);
      if (pasted?.kind === 'refused') throw pasted.error;
      if (pasted?.kind === 'code') return resolve(pasted.code);
      if (pasted) input.print(`${pasted.why} ${AGAIN}\n`);
    }
  };
  return { code, ended: readUntilUnderstood().catch(reject), close: lines.close };
}

/** `undefined` for an empty line. */
function understand(line: string, expected: Expected): Pasted | undefined {
  // Addresses copied from a terminal may contain line breaks.
  const text = line.trim();
  if (!text) return undefined;
  if (/^https?:/i.test(text)) return understandAddress(text.replace(/\s+/g, ''), expected);
  if (/^\??([^=&\s]+=[^&\s]*&)*(code|error|state)=[^\s]*$/.test(text)) {
    return judgeAnswer(new URLSearchParams(text), expected);
  }
  if (!/^[\x21-\x7e]{6,4096}$/.test(text)) return { kind: 'unusable', why: 'This was not understood.' };
  const note = 'Taken as a bare code. It was not checked against "state"; PKCE still protects it.';
  return { kind: 'code', code: text, note };
}

function understandAddress(text: string, expected: Expected): Pasted {
  const url = URL.parse(text);
  if (!url) return { kind: 'unusable', why: 'This address was not understood.' };
  if (url.searchParams.has('code_challenge')) {
    return { kind: 'unusable', why: 'This is the address to open, not the one to which the browser was sent then.' };
  }
  return judgeAnswer(url.searchParams, expected);
}

/** Expected values for an answer of the authorization endpoint. */
interface Expected {
  /** The `state` that this authorization sent. */
  state: string;
  crm: Pick<Deployment['crm'], 'authUrl' | 'scopes'>;
  /** The configuration file with the scopes. */
  configuration: string;
}

/** `unusable`: not an answer to this authorization, which continues to wait. */
type ServiceAnswer =
  | { kind: 'code'; code: string }
  | { kind: 'refused'; error: CommandError }
  | { kind: 'unusable'; why: string };

/** Checks the query with which the CRM redirects the browser (RFC 6749, 4.1.2; RFC 9207). */
function judgeAnswer(query: URLSearchParams, expected: Expected): ServiceAnswer {
  const { state, crm } = expected;
  if (!sameText(query.get('state') ?? '', state)) {
    return { kind: 'unusable', why: 'This answer belongs to another authorization.' };
  }
  const issuer = query.get('iss');
  if (issuer !== null && !isIssuerOf(issuer, crm.authUrl)) {
    // Its value is not printed: it may hold a token.
    return refused(
      `The redirect names another issuer than crm.authUrl does (${crm.authUrl}). Nothing was stored: compare crm.authUrl with "iss" in the address line of the browser, correct what is wrong, and authorize again.`,
    );
  }
  const error = query.get('error');
  if (error) {
    const advice = error === 'invalid_scope' ? ` ${scopeAdvice(expected)}` : '';
    return refused(`The CRM refused the authorization: ${errorWord(error)}.${advice}`);
  }
  const code = query.get('code');
  return code ? { kind: 'code', code } : { kind: 'unusable', why: 'The answer holds no code.' };
}

function refused(sentence: string): ServiceAnswer {
  return { kind: 'refused', error: new CommandError(sentence, RUN_FAILED) };
}

/** Advice that lists the requested scopes and the file in which a person changes them. */
export function scopeAdvice({
  crm,
  configuration,
}: {
  crm: Pick<Expected['crm'], 'scopes'>;
  configuration: string;
}): string {
  const updates = crm.scopes.includes(UPDATE_SCOPE) ? ` ("customerUpdates": true adds ${UPDATE_SCOPE})` : '';
  return `These scopes were requested: ${crm.scopes.join(' ')}. Change crm.scopes in ${configuration}${updates}.`;
}

/** Compares in constant time, so that response times do not reveal the expected text. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** Whether the issuer is the address of the endpoints or a parent of it on the same host; no exact value is known. */
function isIssuerOf(issuer: string, authUrl: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const its = new URL(issuer);
  const ours = new URL(authUrl);
  const path = (url: URL) => `${url.pathname.replace(/\/+$/, '')}/`;
  return its.origin === ours.origin && path(ours).startsWith(path(its)) && !its.search && !its.hash;
}

/** The address to which the CRM redirects the browser. */
interface Callback {
  /** Addresses of this machine; empty if the redirect goes elsewhere, so that a person has to paste the answer. */
  hosts: string[];
  /** 0 means any free port. */
  port: number;
  path: string;
  /** The redirect URI for the actual port. */
  uriAt: (port: number) => string;
}

/** Host names of this machine in a URI; a browser may resolve `localhost` to either address. */
const LOOPBACK: Record<string, string[]> = {
  '127.0.0.1': ['127.0.0.1'],
  '[::1]': ['::1'],
  localhost: ['127.0.0.1', '::1'],
};

/**
 * The callback on 127.0.0.1 with any port (RFC 8252, 7.3). For a CRM that compares redirect URIs exactly, it is the
 * registered URI with its host, port and path; port 0 means any free port.
 * @throws CommandError (exit code 2) when the redirect URI is not valid
 */
export function callbackOf({
  port = 0,
  redirectUri,
}: {
  port?: number | undefined;
  redirectUri?: string | undefined;
}): Callback {
  const wanted = redirectUri ?? `http://127.0.0.1:${port}/callback`;
  const url = URL.parse(wanted);
  if (!url?.host || url.hash || url.username) {
    throw new CommandError(
      'The redirect URI must be an absolute address without a fragment, such as http://localhost:8400/callback.',
      USAGE,
    );
  }
  const hosts = url.protocol === 'http:' ? (LOOPBACK[url.hostname] ?? []) : [];
  return {
    hosts,
    port: Number(url.port || 80),
    path: url.pathname,
    // The address keeps its exact spelling, because the service compares it letter by letter.
    uriAt: (actual) => (url.port === '0' ? wanted.replace(`${url.hostname}:0`, `${url.hostname}:${actual}`) : wanted),
  };
}
