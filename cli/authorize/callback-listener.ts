import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import { type Expected, judgeAnswer, type ServiceAnswer } from './authorization-answer.ts';
import { type Page, showPage } from './callback-page.ts';
import type { Callback } from './redirect-uri.ts';

/** Waits on loopback for the browser to come back from the service. */
export interface CallbackListener {
  redirectUri: string;
  /** The code that the service gave. @throws CommandError when the person or the service refused. */
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
    // After the page is sent, because the caller closes the listener.
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

/** `undefined` for what is no answer of the service at all. */
function answerIn(request: IncomingMessage, path: string, expected: Expected): ServiceAnswer | undefined {
  // Anyone on this machine can send anything here, also an invalid address.
  const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
  if (request.method !== 'GET' || url?.pathname !== path) return undefined;
  return judgeAnswer(url.searchParams, expected);
}

function pageOf(answer: ServiceAnswer | undefined): Page {
  if (!answer) return { status: 404, heading: 'There is nothing here', text: STILL_WAITS };
  if (answer.kind === 'unusable') return { status: 400, heading: answer.why.replace(/\.$/, ''), text: STILL_WAITS };
  if (answer.kind === 'code') {
    const text = 'The command in the terminal goes on and says what came of it. This window can be closed.';
    return { status: 200, heading: 'Authorized at the service', text };
  }
  const text = 'The command in the terminal says why. This window can be closed.';
  return { status: 200, heading: 'The authorization was refused', text };
}

/** Machines without IPv6 have no ::1: what is at 127.0.0.1 answers for `localhost` then. */
const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

async function listen(servers: Server[], answer: RequestListener, port: number, host: string): Promise<number> {
  const server = createServer(answer);
  const { promise: listening, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', (error: NodeJS.ErrnoException) => {
    if (servers.length > 0 && NO_SUCH_ADDRESS.has(error.code ?? '')) return resolve(port);
    const why = `The port ${port} on ${host} cannot be listened on (${error.message}): choose another with --port.`;
    reject(new CommandError(why, ENVIRONMENT));
  });
  server.listen(port, host, () => {
    servers.push(server);
    resolve((server.address() as AddressInfo).port);
  });
  return listening;
}
