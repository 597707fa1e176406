import type { IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import { prepared } from './answer.ts';
import { digestsOf, wholeContent } from './content.ts';
import { send } from './send.ts';
import type { FileOptions, OriginScript, ServedRequest } from './types.ts';

export * from './behaviours.ts';
export type { Behaviour } from './types.ts';

interface ServedFile extends Required<FileOptions> {
  requests: ServedRequest[];
}

type Origin = Awaited<ReturnType<typeof startOrigin>>;
export type OriginFile = ReturnType<Origin['file']>;

/**
 * An HTTP origin on loopback that serves made-up files and lies as their scripts say. One server is enough for any
 * number of files. It serves until `stop`. With a certificate it speaks TLS.
 */
export async function startOrigin(tls?: TlsOptions) {
  const files = new Map<string, ServedFile>();
  const sockets = new Set<Socket>();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let opened = 0;
  const server = createServer({ noDelay: true }, (raw) => {
    const socket = tls ? secured(raw, tls) : raw;
    const connection = ++opened;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    talk(socket, connection, files, stopping.signal, (error) => {
      socket.destroy();
      if (!stopping.signal.aborted) failures.push(error);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const address = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  return {
    address,
    connections: () => opened,
    /** Puts up a file; its script can be changed later. */
    file: (options: FileOptions) => {
      const path = `/file-${files.size + 1}`;
      const { seed = files.size + 1, size } = options;
      const etag = `"${seed}-${size}"`;
      const file: ServedFile = {
        etag,
        contentType: 'text/csv; charset=utf-8',
        script: () => undefined,
        ...options,
        seed,
        requests: [],
      };
      files.set(path, file);
      return {
        url: `${address}${path}?signature=secret`,
        etag: file.etag,
        size,
        requests: file.requests,
        setScript: (script: OriginScript) => {
          file.script = script;
        },
        digests: () => digestsOf(seed, size),
        bytes: () => wholeContent(seed, size),
      };
    },
    stop: async () => {
      stopping.abort();
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
      // A script that threw would else look like a broken connection.
      if (failures.length > 0) throw failures[0];
    },
  };
}

interface TlsOptions {
  certificate: { cert: string; key: string };
  /** Size of the records, 16 KiB by default. */
  recordBytes?: number;
}

function secured(raw: Socket, { certificate, recordBytes }: TlsOptions): Socket {
  const socket = new TLSSocket(raw, { isServer: true, secureContext: createSecureContext(certificate) });
  if (recordBytes !== undefined) socket.setMaxSendFragment(recordBytes);
  // Node resets plain connections only.
  socket.resetAndDestroy = () => {
    raw.resetAndDestroy();
    return socket;
  };
  raw.on('error', () => undefined);
  return socket;
}

/** Serves one connection, request after request. A GET has no body, so that what follows a head is the next one. */
function talk(
  socket: Socket,
  connection: number,
  files: Map<string, ServedFile>,
  signal: AbortSignal,
  fail: (error: unknown) => void,
): void {
  let text = '';
  let turn = Promise.resolve();
  socket.on('data', (chunk) => {
    const heads = `${text}${chunk.toString('latin1')}`.split('\r\n\r\n');
    text = heads.pop() ?? '';
    for (const head of heads) {
      turn = turn.then(() => answerHead(socket, head, connection, files, signal)).catch(fail);
    }
  });
}

async function answerHead(
  socket: Socket,
  head: string,
  connection: number,
  files: Map<string, ServedFile>,
  signal: AbortSignal,
): Promise<void> {
  if (socket.destroyed || socket.writableEnded) return;
  const { method, path, headers } = parsed(head);
  const file = files.get(path.split('?')[0] ?? '');
  if (file === undefined) {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const again = await serve(socket, file, { method, path, headers, connection }, signal);
  if (!again && !socket.destroyed) socket.end();
}

function parsed(head: string): { method: string; path: string; headers: IncomingHttpHeaders } {
  const [line = '', ...lines] = head.split('\r\n');
  const [method = '', path = ''] = line.split(' ');
  const pairs = lines.map((text): [string, string] => {
    const colon = text.indexOf(':');
    return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
  });
  return { method, path, headers: Object.fromEntries(pairs) };
}

type Seen = Pick<ServedRequest, 'method' | 'path' | 'headers' | 'connection'>;

async function serve(socket: Socket, file: ServedFile, seen: Seen, signal: AbortSignal): Promise<boolean> {
  const { range } = seen.headers;
  const offset = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
  const number = file.requests.length + 1;
  const served: ServedRequest = { ...seen, number, range, offset, status: 0, bytesSent: 0 };
  file.requests.push(served);
  const behaviour = file.script(served) ?? {};
  await behaviour.waitFor;
  if (behaviour.delayMs !== undefined) await delay(behaviour.delayMs, undefined, { signal });
  if (behaviour.reset) {
    socket.resetAndDestroy();
    return false;
  }
  return send(socket, prepared(file, served, behaviour), behaviour, served, signal);
}
