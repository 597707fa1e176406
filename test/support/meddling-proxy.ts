import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The fault for one request. */
type Meddling =
  /** One bit of its body is flipped. */
  | 'flip a bit'
  /** The request arrives and is answered, but the answer is lost with its connection. */
  | 'lose the answer';

/** Chooses the fault of a request by its first line. */
type Meddler = (requestLine: string) => Meddling | undefined;

/** An offset that lies inside the body of a request. */
const INTO_THE_BODY = 20_000;

/**
 * A TCP proxy on loopback that passes all bytes on, except for the faults of `meddler`. It recognises the start of a
 * request by its method alone, so no body may contain such a text.
 */
export async function startMeddlingProxy(target: string) {
  const { hostname, port } = new URL(target);
  const proxy = { meddler: (() => undefined) as Meddler, flips: 0, losses: 0 };
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: hostname, port: Number(port), noDelay: true });
    join(near, far, proxy);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port: own } = server.address() as AddressInfo;
  return Object.assign(proxy, {
    endpoint: `http://127.0.0.1:${own}`,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  });
}

function join(near: Socket, far: Socket, proxy: { meddler: Meddler; flips: number; losses: number }): void {
  let meddling: Meddling | undefined;
  let passed = 0;
  near.on('data', (chunk) => {
    const line = requestLineOf(chunk);
    if (line) {
      meddling = proxy.meddler(line);
      passed = 0;
    }
    if (meddling === 'flip a bit' && passed > INTO_THE_BODY && flip(chunk)) {
      meddling = undefined;
      proxy.flips += 1;
    }
    passed += chunk.length;
    if (!far.write(chunk)) near.pause();
  });
  far.on('drain', () => near.resume());
  far.on('data', (chunk) => {
    if (meddling === 'lose the answer') {
      proxy.losses += 1;
      near.resetAndDestroy();
      far.destroy();
    } else if (!near.destroyed) near.write(chunk);
  });
  near.once('close', () => far.destroy());
  far.once('close', () => near.destroy());
}

function requestLineOf(chunk: Buffer): string | undefined {
  const start = chunk.toString('latin1', 0, 2_000);
  return /^(?:GET|HEAD|PUT|POST|DELETE) \S+ HTTP\/1\.1/.exec(start)?.[0];
}

/** Writes a letter that does not occur in chunk lengths, so that it damages the content and not the framing. */
function flip(chunk: Buffer): boolean {
  const at = chunk.findIndex((byte) => byte >= 0x67 && byte <= 0x78);
  if (at < 0) return false;
  chunk.writeUInt8(chunk.readUInt8(at) ^ 1, at);
  return true;
}
