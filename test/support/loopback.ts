import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

type Handle = (request: IncomingMessage, body: Buffer, response: ServerResponse) => unknown;

/** Serves HTTP on loopback until the end of the test. If the handler fails, it closes the connection. */
export function servedOnLoopback(handle: Handle): Promise<string> {
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => handle(request, body, response))
      .catch(() => response.destroy());
  });
  return addressOf(server);
}

/** Makes a server listen on loopback until the end of the test. */
async function addressOf(server: Server): Promise<string> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
