import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Prepared } from './answer.ts';
import type { Behaviour, ServedRequest } from './types.ts';

/** A slow sender hands over this many pieces a second. */
const PIECES_PER_SECOND = 20;
const DELIVERED_AT_ONCE_BYTES = 64 * 1024;
const DELIVERED_WITHIN_MS = 20;

/**
 * Writes an answer to the bare connection, so that no library mends what the behaviour breaks. True = the connection is
 * good for another request.
 */
export async function send(
  socket: Socket,
  answer: Prepared,
  behaviour: Behaviour,
  served: ServedRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const { framing = 'length', cutAfter, endAfter, stallAfter, addToLength = 0, extraBytes = 0 } = behaviour;
  served.status = answer.status;
  socket.write(headOf(answer, framing, addToLength));
  if (served.method === 'HEAD') return true;
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

/** False = the limit, the client or the end of the server stopped it before its end. */
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
 * A reset throws away what the kernel has not delivered yet, so that it comes a moment after the last byte. A client that
 * does not read meanwhile loses bytes, as in life.
 */
async function reset(socket: Socket, served: ServedRequest, signal: AbortSignal): Promise<void> {
  if (!socket.destroyed) await new Promise<void>((written) => socket.write('', () => written()));
  if (served.bytesSent > DELIVERED_AT_ONCE_BYTES) await delay(DELIVERED_WITHIN_MS, undefined, { signal });
  if (!socket.destroyed) socket.resetAndDestroy();
}

async function closed(socket: Socket, signal: AbortSignal): Promise<void> {
  if (!socket.destroyed) await once(socket, 'close', { signal }).catch(() => undefined);
}
