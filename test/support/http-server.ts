import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { servedOnLoopback } from './loopback.ts';

interface ReceivedRequest {
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
  const seen: ReceivedRequest[] = [];
  const unexpected: string[] = [];
  const url = await servedOnLoopback((request, body, response) => {
    const { method = '', url: path = '', headers } = request;
    const line = `${method} ${path}`;
    const exchange = expected[0]?.[0] === line ? expected.shift() : undefined;
    if (!exchange) unexpected.push(line);
    const reply: Reply = exchange?.[1] ?? { status: 599 };
    seen.push({ method, path, headers, body: body.toString('utf8') });
    if (typeof reply === 'function') reply(response, request);
    else send(response, reply);
  });
  onTestFinished(() => {
    const missing = expected.map(([line]) => line);
    if (unexpected.length + missing.length > 0)
      throw new Error(`unexpected requests: [${unexpected.join(', ')}]; requests that did not come: [${missing}]`);
  });
  return { url, seen };
}

function send(response: ServerResponse, { status = 200, headers = {}, json, text = '' }: Literal) {
  const body = Buffer.from(json === undefined ? text : JSON.stringify(json));
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, 'content-length': String(body.length), ...headers });
  response.end(body);
}

/**
 * An address on loopback without a server: a port below those that the system gives to servers of other tests. `fetch`
 * refuses some of these ports by itself, but not this one.
 */
export const DEAD_ADDRESS = 'http://127.0.0.1:2';

/** Takes the request and closes the connection without a reply. */
export const hangUp: Reply = (response) => response.destroy();

/** Declares more bytes than it sends, and closes the connection after the sent part. */
export function cutOff(status: number, headers: Record<string, string>, part: string): Reply {
  return (response) => {
    response.writeHead(status, { 'content-length': String(part.length + 1000), ...headers });
    response.write(part, () => response.destroy());
  };
}
