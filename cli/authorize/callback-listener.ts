import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import { type Expected, judgeAnswer, type ServiceAnswer } from './authorization-answer.ts';
import type { Callback } from './redirect-uri.ts';

export interface CallbackListener {
  redirectUri: string;
  /** The code that the CRM gave. @throws CommandError when the person or the CRM refused. */
  code: Promise<string>;
  close(): void;
}

const STILL_WAITS = 'The command still waits. This window can be closed.';

/**
 * Listens on loopback for the redirect. A wrong `state` is answered with an error page and the listener goes on: a stray
 * request must not be able to end the authorization.
 * @throws CommandError (exit code 3) when the port is taken
 */
export async function listenForCallback(
  expected: Expected,
  { hosts, port: wanted, path, uriAt }: Callback,
): Promise<CallbackListener> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // A refusal before somebody awaits it must not end the process.
  code.catch(() => {});
  const answer: RequestListener = (request, response) => {
    const answer = answerIn(request, path, expected);
    showPage(response, pageOf(answer));
    // The caller closes the listener, so it is told only after the page is sent.
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

/** `undefined` for what is no answer of the CRM at all. */
function answerIn(request: IncomingMessage, path: string, expected: Expected): ServiceAnswer | undefined {
  // Anyone on this machine can send anything here, also an invalid address.
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

/** Machines without IPv6 have no ::1: what is at 127.0.0.1 answers for `localhost` then. */
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

/** A page without styles, scripts or anything that the browser brought. */
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
