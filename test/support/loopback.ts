import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

type Handle = (request: IncomingMessage, body: Buffer, response: ServerResponse) => unknown;

/** Serves HTTP on loopback until the end of the test. If the handler fails, it closes the connection. */
export async function servedOnLoopback(handle: Handle): Promise<string> {
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => handle(request, body, response))
      .catch(() => response.destroy());
  });
  return `http://127.0.0.1:${await portOf(server)}`;
}

/** Makes a server listen on loopback until the end of the test. */
export async function portOf(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  return (server.address() as AddressInfo).port;
}
