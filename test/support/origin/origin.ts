import { once } from 'node:events';
import { createServer as createParser, type IncomingMessage, STATUS_CODES } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import { contentBytes, digestsOf, wholeContent } from './content.ts';
import type { Behaviour, FileOptions, OriginRequest, OriginScript, ServedRequest } from './types.ts';

export type { Behaviour } from './types.ts';

interface ServedFile extends Required<FileOptions> {
  requests: ServedRequest[];
}

type Origin = Awaited<ReturnType<typeof startOrigin>>;
export type OriginFile = ReturnType<Origin['file']>;

/**
 * An HTTP origin on loopback that serves made-up files with the faults of their scripts. One server can serve any
 * number of files until `stop`. With a certificate it speaks TLS.
 */
export async function startOrigin(tls?: TlsOptions) {
  const files = new Map<string, ServedFile>();
  const sockets = new Set<Socket>();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const connections = new WeakMap<Socket, number>();
  let opened = 0;
  // Parses the requests. The answers go to the raw connection.
  const parser = createParser((request) => {
    const { socket } = request;
    answer(request, files, connections.get(socket) ?? 0, stopping.signal).catch((error: unknown) => {
      socket.destroy();
      if (!stopping.signal.aborted) failures.push(error);
    });
  });
  const server = createServer({ noDelay: true }, (raw) => {
    const socket = tls ? secured(raw, tls) : raw;
    connections.set(socket, ++opened);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    parser.emit('connection', socket);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const address = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  return {
    address,
    /** Adds a file. Its script can be changed later. */
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
      // An error in a script would otherwise look like a broken connection.
      if (failures.length > 0) throw failures[0];
    },
  };
}

interface TlsOptions {
  certificate: { cert: string; key: string };
  /** The size of TLS records, 16 KiB by default. */
  recordBytes?: number;
}

function secured(raw: Socket, { certificate, recordBytes }: TlsOptions): Socket {
  const socket = new TLSSocket(raw, { isServer: true, secureContext: createSecureContext(certificate) });
  if (recordBytes !== undefined) socket.setMaxSendFragment(recordBytes);
  // Node can reset plain connections only.
  socket.resetAndDestroy = () => {
    raw.resetAndDestroy();
    return socket;
  };
  raw.on('error', () => undefined);
  return socket;
}

async function answer(
  { socket, method = '', url: path = '', headers }: IncomingMessage,
  files: Map<string, ServedFile>,
  connection: number,
  signal: AbortSignal,
): Promise<void> {
  const file = files.get(path.split('?')[0] ?? '');
  if (file === undefined) {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const again = await serve(socket, file, { method, path, headers, connection }, signal);
  if (!again && !socket.destroyed) socket.end();
}

type RequestLine = Pick<ServedRequest, 'method' | 'path' | 'headers' | 'connection'>;

async function serve(socket: Socket, file: ServedFile, seen: RequestLine, signal: AbortSignal): Promise<boolean> {
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

/** An answer before it is written: its status and headers, and its body. */
interface Prepared {
  status: number;
  headers: Record<string, string>;
  /** The body, generated while it is sent. */
  body: Iterable<Buffer>;
  /** Bytes in `body`. */
  length: number;
}

const RANGE = /^bytes=(\d+)-(\d*)$/;

/** Applies a behaviour to the answer to this request, but not to the way of sending it. */
function prepared(file: ServedFile, request: OriginRequest, behaviour: Behaviour): Prepared {
  const answer = whole(file, request, behaviour);
  for (const [name, value] of Object.entries(behaviour.headers ?? {})) {
    if (value === '') delete answer.headers[name];
    else answer.headers[name] = value;
  }
  return answer;
}

function whole(file: ServedFile, { range, headers }: OriginRequest, behaviour: Behaviour): Prepared {
  const { status, body } = behaviour;
  if (body !== undefined || status !== undefined) return literal(status ?? 200, body ?? '', {});
  const etag = behaviour.etag === undefined ? file.etag : behaviour.etag;
  const about = {
    'Content-Type': file.contentType,
    'Accept-Ranges': 'bytes',
    ...(etag === null ? {} : { ETag: etag }),
  };
  const match = headers['if-match'];
  if (match !== undefined && match !== etag) return literal(412, '', about);
  return partOf(file, behaviour.ignoreRange ? undefined : range, behaviour, about);
}

function partOf(
  file: ServedFile,
  range: string | undefined,
  behaviour: Behaviour,
  about: Record<string, string>,
): Prepared {
  const seed = behaviour.seed ?? file.seed;
  const { size } = file;
  const extra = behaviour.extraBytes ?? 0;
  const [, from, to] = RANGE.exec(range ?? '') ?? [];
  if (from === undefined) {
    return { status: 200, headers: about, body: contentBytes(seed, 0, size + extra), length: size };
  }
  const first = Number(from);
  const last = to ? Math.min(Number(to), size - 1) : size - 1;
  if (first >= size || first > last) return literal(416, '', { ...about, 'Content-Range': `bytes */${size}` });
  const contentRange = behaviour.contentRange ?? `bytes ${first}-${last}/${size}`;
  const headers = { ...about, 'Content-Range': contentRange };
  return { status: 206, headers, body: contentBytes(seed, first, last + 1 + extra), length: last + 1 - first };
}

function literal(status: number, body: string | Uint8Array, headers: Record<string, string>): Prepared {
  const bytes = Buffer.from(body);
  return { status, headers, body: bytes.length > 0 ? [bytes] : [], length: bytes.length };
}

/** Ready-made faults that were observed at real origins. */

/** A sign-in page in place of the file. */
export const HTML_PAGE: Behaviour = {
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8' },
  body: '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n',
};

/** An error of an object store, with status 200. */
export const XML_ERROR: Behaviour = {
  status: 200,
  headers: { 'Content-Type': 'application/xml' },
  body: '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>InternalError</Code><Message>Try again.</Message></Error>',
};

/** The answer to an expired pre-signed URL of S3. */
export const EXPIRED: Behaviour = {
  status: 403,
  headers: { 'Content-Type': 'application/xml' },
  body: '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>',
};

export function busy(status: 429 | 503, retryAfter?: string): Behaviour {
  return { status, body: 'busy', ...(retryAfter === undefined ? {} : { headers: { 'Retry-After': retryAfter } }) };
}

/** The first requests get one of these behaviours each; later ones get correct answers. */
export function inOrder(...behaviours: (Behaviour | undefined)[]): OriginScript {
  return ({ number }: OriginRequest) => behaviours[number - 1];
}

/** The number of pieces that a slow sender sends in a second. */
const PIECES_PER_SECOND = 20;
const DELIVERED_AT_ONCE_BYTES = 64 * 1024;
const DELIVERED_WITHIN_MS = 20;

/**
 * Writes an answer to the raw connection, so that no library repairs its faults. Returns true if the connection can
 * take another request.
 */
async function send(
  socket: Socket,
  answer: Prepared,
  behaviour: Behaviour,
  served: ServedRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const { framing = 'length', cutAfter, endAfter, stallAfter, addToLength = 0, extraBytes = 0 } = behaviour;
  served.status = answer.status;
  socket.write(headOf(answer, framing, addToLength));
  const limit = cutAfter ?? endAfter ?? stallAfter ?? Number.POSITIVE_INFINITY;
  const whole = await sendBody(socket, answer, { ...behaviour, limit }, served, signal);
  if (cutAfter !== undefined) await reset(socket, served, signal);
  else if (stallAfter !== undefined) await closed(socket, signal);
  else if (endAfter !== undefined || !whole) socket.end();
  else if (framing === 'chunked') socket.write('0\r\n\r\n');
  const honest = framing !== 'close' && addToLength === 0 && extraBytes === 0;
  return whole && honest && !socket.destroyed && !socket.writableEnded;
}

function headOf({ status, headers, length }: Prepared, framing: string, addToLength: number): string {
  const own: Record<string, string> = { Date: new Date().toUTCString() };
  if (framing === 'chunked') own['Transfer-Encoding'] = 'chunked';
  if (framing === 'close') own.Connection = 'close';
  if (framing === 'length') own['Content-Length'] = String(Math.max(0, length + addToLength));
  const lines = Object.entries({ ...own, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
}

/** Returns false if the limit, the client or the end of the server stopped the body early. */
async function sendBody(
  socket: Socket,
  { body }: Prepared,
  { limit, framing, bytesPerSecond, pieceBytes = Number.POSITIVE_INFINITY }: Behaviour & { limit: number },
  served: ServedRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const inTime = bytesPerSecond === undefined ? limit : Math.max(1, Math.floor(bytesPerSecond / PIECES_PER_SECOND));
  for (const piece of pieces(body, limit, Math.min(pieceBytes, inTime))) {
    if (bytesPerSecond !== undefined) await delay((piece.length / bytesPerSecond) * 1000, undefined, { signal });
    if (socket.destroyed) return false;
    if (framing === 'chunked') socket.write(`${piece.length.toString(16)}\r\n`);
    const flowing = socket.write(piece);
    if (framing === 'chunked') socket.write('\r\n');
    served.bytesSent += piece.length;
    if (!flowing) await drained(socket);
  }
  return served.bytesSent < limit && !socket.destroyed;
}

function* pieces(body: Iterable<Buffer>, limit: number, most: number): Generator<Buffer> {
  let left = limit;
  for (const chunk of body) {
    for (let at = 0; at < chunk.length && left > 0; ) {
      const piece = chunk.subarray(at, at + Math.min(most, left));
      yield piece;
      at += piece.length;
      left -= piece.length;
    }
    if (left <= 0) return;
  }
}

async function drained(socket: Socket): Promise<void> {
  if (socket.destroyed || !socket.writableNeedDrain) return;
  const stop = new AbortController();
  const options = { signal: stop.signal };
  await Promise.race([once(socket, 'drain', options), once(socket, 'close', options)]).catch(() => undefined);
  stop.abort();
}

/**
 * Resets the connection a moment after the last byte: a reset discards bytes that the kernel has not delivered. A
 * client that does not read in that moment loses bytes, as in practice.
 */
async function reset(socket: Socket, served: ServedRequest, signal: AbortSignal): Promise<void> {
  if (!socket.destroyed) await new Promise<void>((written) => socket.write('', () => written()));
  if (served.bytesSent > DELIVERED_AT_ONCE_BYTES) await delay(DELIVERED_WITHIN_MS, undefined, { signal });
  if (!socket.destroyed) socket.resetAndDestroy();
}

async function closed(socket: Socket, signal: AbortSignal): Promise<void> {
  if (!socket.destroyed) await once(socket, 'close', { signal }).catch(() => undefined);
}
