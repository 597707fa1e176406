import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandError, ENVIRONMENT, RUN_FAILED } from './exit.ts';

/** Waits on loopback for the browser to come back from the service. */
export interface CallbackListener {
  redirectUri: string;
  /** The code that the service gave. @throws CommandError when the person or the service refused, or nobody came. */
  code: Promise<string>;
  close(): void;
}

/**
 * Listens on 127.0.0.1 for `/callback`. A wrong `state` is answered with an error page and the listener goes on: a stray
 * request must not be able to end the authorization.
 * @param port 0 takes any free port
 * @throws CommandError (exit code 3) when the port is taken
 */
export async function listenForCallback(
  state: string,
  options: { port?: number | undefined; seconds?: number; signal?: AbortSignal | undefined } = {},
): Promise<CallbackListener> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // Whoever awaits it hears of it; until then a refusal must not end the process.
  code.catch(() => {});
  const server = createServer((request, response) => {
    const verdict = verdictOn(request, state);
    page(response, verdict.status, verdict.text);
    if (verdict.refused) reject(verdict.refused);
    if (verdict.code) resolve(verdict.code);
  });
  const { signal, seconds = 300 } = options;
  signal?.throwIfAborted();
  const port = await listen(server, options.port ?? 0);
  const timer = setTimeout(
    () => reject(new CommandError(`Nobody came back from the service within ${seconds} seconds.`, RUN_FAILED)),
    seconds * 1000,
  );
  const abort = () => reject(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const close = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    server.close();
    server.closeAllConnections();
  };
  return { redirectUri: `http://127.0.0.1:${port}/callback`, code, close };
}

type Verdict = { status: number; text: string; code?: string; refused?: CommandError };

function verdictOn(request: IncomingMessage, state: string): Verdict {
  // Anyone on this machine can send anything here, an address that cannot be read too.
  const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
  const query = (name: string) => url?.searchParams.get(name) ?? '';
  if (request.method !== 'GET' || url?.pathname !== '/callback') return { status: 404, text: 'There is nothing here.' };
  if (query('state') !== state) {
    return { status: 400, text: 'This answer belongs to another authorization. The command still waits.' };
  }
  if (query('error')) {
    const said = `${plain(query('error'))} ${plain(query('error_description'))}`.trim();
    const refused = new CommandError(`The service refused the authorization: ${said}.`, RUN_FAILED);
    return { status: 200, text: 'The service refused. The command says more; this window can be closed.', refused };
  }
  const code = query('code');
  if (!code) return { status: 400, text: 'The answer holds no code. The command still waits.' };
  return { status: 200, text: 'Authorized. The command goes on; this window can be closed.', code };
}

/** Text of the service, for a terminal: short, and without control characters. */
export function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, 200);
}

function page(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(`<!doctype html><html lang="en"><title>Authorization</title><main><h1>${text}</h1></main></html>\n`);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new CommandError(
          `The port ${port} on 127.0.0.1 cannot be listened on (${error.message}): choose another with --port.`,
          ENVIRONMENT,
        ),
      );
    });
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
