import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { addAbortListener, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { errorWord } from '../../core/oauth/token-answers.ts';
import { hiddenLines, type Input } from '../support/confirm.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED, usageError } from '../support/exit.ts';

export interface ConsentOptions {
  crm: Pick<OAuthSettings, 'authUrl' | 'scopes'>;
  /** The configuration file, for messages. */
  configuration: string;
  /** Default: five minutes. */
  timeoutSeconds?: number | undefined;
  /** The input into which a person may paste the answer. */
  paste?: Input | undefined;
  /**
   * Shows or opens the address of the consent page. An error that this function throws ends the authorization. `page`
   * is a page on loopback that leads one browser to `url`. Without `page`, no server listens at the redirect URI.
   */
  onUrl: (url: string, redirectUri: string, page: string | undefined) => unknown;
  signal?: AbortSignal | undefined;
}

/** The authorization code, and the values that its exchange must repeat. */
export type Consent = Awaited<ReturnType<typeof consent>>;

/**
 * Waits until a person has consented, and returns the code that the browser brings or the person pastes.
 * @throws CommandError at a refusal, at a timeout, or when the paste ends and no listener runs
 */
export async function consent(clientId: string, callback: Callback, options: ConsentOptions) {
  const { crm, configuration, onUrl, paste, timeoutSeconds = 300, signal } = options;
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(32).toString('base64url');
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // The promise may be rejected before this function awaits it. That must not end the process.
  code.catch(() => {});
  const settle = (answer: CrmAnswer) => {
    if (answer.kind === 'code') resolve(answer.code);
    if (answer.kind === 'refused') reject(answer.error);
  };
  const judge = (query: URLSearchParams) => judgeAnswer(query, state, options);
  const listener = callback.hosts.length > 0 ? await listenForCallback(callback, judge, settle) : undefined;
  const redirectUri = listener?.redirectUri ?? callback.uriAt(callback.port);
  const lines = paste && hiddenLines(paste);
  const wrong = `If the browser showed no page of the CRM, correct crm.authUrl (${crm.authUrl}) in ${configuration} and deploy.`;
  const fail = (sentence: string) => reject(new CommandError(`${sentence} ${wrong}`, RUN_FAILED));
  const late = `The browser did not come back from the CRM within ${timeoutSeconds} seconds. Nothing was stored.`;
  const timer = setTimeout(() => fail(late), timeoutSeconds * 1000);
  const aborting = signal && addAbortListener(signal, () => reject(signal.reason));
  const askPerson = async () => {
    const url = authorizationUrl(crm, { client_id: clientId, redirect_uri: redirectUri, state, verifier });
    await onUrl(url, redirectUri, listener?.leadTo(url));
    if (!lines) return;
    for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
      const answer = understand(line, judge);
      if (!answer) continue;
      if (answer.note) paste.print(`${answer.note}\n`);
      if (answer.kind !== 'unusable') return settle(answer);
      const again = 'Paste the whole address that the browser was redirected to, or the code in it, and press Enter.';
      paste.print(`${answer.why} ${again}\n`);
    }
    // With a listener, the browser may still bring the answer.
    if (!listener) fail('No answer was pasted, so no grant was stored.');
  };
  askPerson().catch(reject);
  try {
    return { code: await code, redirectUri, verifier };
  } finally {
    clearTimeout(timer);
    aborting?.[Symbol.dispose]();
    lines?.close();
    listener?.close();
  }
}

function authorizationUrl(
  { authUrl, scopes }: ConsentOptions['crm'],
  { verifier, ...rest }: { client_id: string; redirect_uri: string; state: string; verifier: string },
): string {
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const proof = { code_challenge: challenge, code_challenge_method: 'S256' };
  const query = new URLSearchParams({ response_type: 'code', scope: scopes.join(' '), ...rest, ...proof });
  return `${authUrl.replace(/\/$/, '')}/authorize?${query}`;
}

/** `unusable`: not an answer to this authorization, which continues to wait. */
type CrmAnswer =
  | { kind: 'code'; code: string }
  | { kind: 'refused'; error: CommandError }
  | { kind: 'unusable'; why: string };

type Judge = (query: URLSearchParams) => CrmAnswer;

/** Checks the query with which the CRM redirects the browser (RFC 6749, 4.1.2; RFC 9207). */
function judgeAnswer(query: URLSearchParams, state: string, options: Settings): CrmAnswer {
  const { authUrl } = options.crm;
  if (query.get('state') !== state) {
    return { kind: 'unusable', why: 'This answer belongs to a different authorization.' };
  }
  const refused = (sentence: string): CrmAnswer => ({ kind: 'refused', error: new CommandError(sentence, RUN_FAILED) });
  const issuer = query.get('iss');
  if (issuer !== null && !isIssuerOf(issuer, authUrl)) {
    // The message does not contain the value of `iss`, which may hold a token.
    return refused(
      `The issuer in the redirect ("iss") does not match crm.authUrl (${authUrl}). Nothing was stored. Compare crm.authUrl with "iss" in the address line of the browser, correct what is wrong, and authorize again.`,
    );
  }
  const error = query.get('error');
  if (error) {
    const advice = error === 'invalid_scope' ? ` ${scopeAdvice(options)}` : '';
    return refused(`The CRM refused the authorization: ${errorWord(error)}.${advice}`);
  }
  const code = query.get('code');
  return code ? { kind: 'code', code } : { kind: 'unusable', why: 'The answer holds no code.' };
}

type Settings = Pick<ConsentOptions, 'crm' | 'configuration'>;

/** Advice that lists the requested scopes and the file in which a person changes them. */
export function scopeAdvice({ crm: { scopes }, configuration }: Settings): string {
  const updates = scopes.includes(UPDATE_SCOPE) ? ` ("customerUpdates": true adds ${UPDATE_SCOPE})` : '';
  return `These scopes were requested: ${scopes.join(' ')}. Change crm.scopes in ${configuration}${updates}.`;
}

/** Whether the issuer is the address of the endpoints, or a parent of it on the same host: the interface names no value. */
function isIssuerOf(issuer: string, authUrl: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const its = new URL(issuer);
  const ours = new URL(authUrl);
  const path = (url: URL) => `${url.pathname.replace(/\/+$/, '')}/`;
  return its.origin === ours.origin && path(ours).startsWith(path(its)) && !its.search && !its.hash;
}

/**
 * The answer of the CRM in a pasted line, which is the redirect address or the bare code. A person pastes it if the
 * browser cannot reach this machine. `undefined` for an empty line.
 */
function understand(line: string, judge: Judge): (CrmAnswer & { note?: string }) | undefined {
  const text = line.trim();
  if (!text) return undefined;
  if (/^https?:/i.test(text)) {
    // Addresses copied from a terminal may contain line breaks.
    const url = URL.parse(text.replace(/\s+/g, ''));
    if (!url) return { kind: 'unusable', why: 'The command does not recognise this address.' };
    if (!url.searchParams.has('code_challenge')) return judge(url.searchParams);
    return {
      kind: 'unusable',
      why: 'This is the address to open, not the address that the browser was redirected to.',
    };
  }
  if (/^\??([^=&\s]+=[^&\s]*&)*(code|error|state)=[^\s]*$/.test(text)) return judge(new URLSearchParams(text));
  if (!/^[\x21-\x7e]{6,4096}$/.test(text))
    return { kind: 'unusable', why: 'The command does not recognise this text.' };
  const note = 'The command takes the text as a code. It has no "state" to check, but PKCE still protects the code.';
  return { kind: 'code', code: text, note };
}

/**
 * Listens on loopback for the redirect. A wrong `state` gets an error page, and the listener continues: a stray
 * request must not be able to end the authorization.
 * @throws CommandError (exit code 3) when the port is taken
 */
async function listenForCallback(
  { hosts, port: wanted, path, uriAt }: Callback,
  judge: Judge,
  settle: (answer: CrmAnswer) => void,
) {
  const leadingPath = `/${randomUUID()}`;
  let leadsTo: string | undefined;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    // Any program on this machine can send a request here, even with an invalid address.
    const url = request.method === 'GET' ? URL.parse(request.url ?? '/', 'http://127.0.0.1') : null;
    if (leadsTo !== undefined && url?.pathname === leadingPath) {
      response.writeHead(302, { ...HEADERS, location: leadsTo }).end();
      leadsTo = undefined;
      return;
    }
    const answer = url?.pathname === path ? judge(url.searchParams) : undefined;
    showPage(response, PAGES[answer?.kind ?? 'other']);
    // The listener is closed as soon as the answer is settled, so the page is sent first.
    finished(response, () => answer && settle(answer));
  };
  const servers: Server[] = [];
  const close = () => {
    for (const server of servers) server.close().closeAllConnections();
  };
  let port = wanted;
  for (const host of hosts) {
    const server = createServer(handle).listen(port, host);
    try {
      await once(server, 'listening');
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      if (servers.length > 0 && NO_SUCH_ADDRESS.has(code)) continue;
      close();
      const why = `The command cannot listen on port ${port} of ${host} (${message}): choose another port with --port.`;
      throw new CommandError(why, ENVIRONMENT);
    }
    servers.push(server);
    port = (server.address() as AddressInfo).port;
  }
  const redirectUri = uriAt(port);
  /**
   * A local page that redirects to an address once. Every user of this machine can read the arguments of its processes,
   * so the browser is started with this page and not with the address, which holds `state`.
   */
  const leadTo = (url: string): string => {
    leadsTo = url;
    return new URL(leadingPath, redirectUri).href;
  };
  return { redirectUri, leadTo, close };
}

/** Machines without IPv6 have no ::1: for `localhost`, 127.0.0.1 alone is enough there. */
const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

const HEADERS = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

const WAITS = 'The command still waits.';
const PAGES = {
  other: [404, 'There is nothing here', WAITS],
  unusable: [400, 'This is not an answer to this authorization', WAITS],
  refused: [200, 'The authorization was refused', 'The command in the terminal says why.'],
  code: [200, 'Authorized at the CRM', 'The command in the terminal continues and reports the result.'],
} satisfies Record<CrmAnswer['kind'] | 'other', [status: number, heading: string, text: string]>;

/** Sends a page without styles, scripts or any text from the request. */
function showPage(response: ServerResponse, [status, heading, text]: [number, string, string]): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html>
<html lang="en">
<title>${heading} - CRM export</title>
<main>
<h1>${heading}</h1>
<p>${text} This window can be closed.</p>
</main>
</html>
`);
}

/** The address to which the CRM redirects the browser. */
type Callback = ReturnType<typeof callbackOf>;

/** Host names of this machine in a URI; a browser may resolve `localhost` to either address. */
const LOOPBACK: Record<string, string[]> = {
  '127.0.0.1': ['127.0.0.1'],
  '[::1]': ['::1'],
  localhost: ['127.0.0.1', '::1'],
};

/**
 * The callback on 127.0.0.1 with any port (RFC 8252, 7.3). For a CRM that compares redirect URIs exactly, it is the
 * registered URI with its host, port and path; port 0 means any free port. `uriAt` is the URI for the actual port.
 * @throws CommandError (exit code 2) when the redirect URI is not valid
 */
export function callbackOf(place: { port?: number | undefined; redirectUri?: string | undefined }) {
  const { port = 0, redirectUri: wanted = `http://127.0.0.1:${port}/callback` } = place;
  const url = URL.parse(wanted);
  if (!url?.host || url.hash || url.username) {
    throw usageError(
      'The redirect URI must be an absolute address without a fragment, such as http://localhost:8400/callback.',
    );
  }
  return {
    // Addresses of this machine; empty if the redirect goes elsewhere, so that a person has to paste the answer.
    hosts: url.protocol === 'http:' ? (LOOPBACK[url.hostname] ?? []) : [],
    port: Number(url.port || 80),
    path: url.pathname,
    // The address keeps its exact spelling, because the service compares it letter by letter.
    uriAt: (actual: number) =>
      url.port === '0' ? wanted.replace(`${url.hostname}:0`, `${url.hostname}:${actual}`) : wanted,
  };
}
