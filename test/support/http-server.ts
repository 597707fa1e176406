import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

interface Seen {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Literal {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string | Uint8Array;
}

/** The reply of a test server: a literal, or a function that handles the connection itself. */
export type Reply = Literal | ((response: ServerResponse, request: IncomingMessage) => void);

/** One expected request, `POST /leads/exports`, and its answer. */
export type Exchange = [request: string, reply: Reply];

/**
 * A real server on loopback that expects exactly these requests in this order. An unexpected or a missing request fails
 * the test.
 */
export async function serverFor(...exchanges: Exchange[]) {
  const expected = [...exchanges];
  const seen: Seen[] = [];
  const unexpected: string[] = [];
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    const exchange = expected[0]?.[0] === line ? expected.shift() : undefined;
    if (!exchange) unexpected.push(line);
    const reply: Reply = exchange?.[1] ?? { status: 599 };
    buffer(request).then(
      (body) => {
        const { method = '', url: path = '', headers } = request;
        seen.push({ method, path, headers, body: body.toString('utf8') });
        if (typeof reply === 'function') reply(response, request);
        else send(response, reply);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    const missing = expected.map(([line]) => line);
    if (unexpected.length + missing.length > 0)
      throw new Error(`unexpected requests: [${unexpected.join(', ')}]; requests that did not come: [${missing}]`);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function send(response: ServerResponse, { status = 200, headers = {}, json, text = '' }: Literal) {
  const body = Buffer.from(json === undefined ? text : JSON.stringify(json));
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, 'content-length': String(body.length), ...headers });
  response.end(body);
}

/** An address on loopback without a server. */
export async function deadAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return `http://127.0.0.1:${port}`;
}

/** Takes the request and closes the connection without a reply. */
export const hangUp: Reply = (response) => response.destroy();

/** Declares more bytes than it sends, and closes the connection after the sent part. */
export function cutOff(status: number, headers: Record<string, string>, part: string): Reply {
  return (response) => {
    response.writeHead(status, { 'content-length': String(part.length + 1000), ...headers });
    response.write(part, () => response.destroy());
  };
}
