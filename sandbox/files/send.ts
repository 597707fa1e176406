import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { Effect } from '../world/fault-schema.ts';
import type { LedgerCall } from '../world/ledger.ts';

type Chunks = AsyncIterable<Buffer> | Iterable<Buffer>;

/** A slow sender hands over this many pieces a second. */
const PIECES_PER_SECOND = 20;

/** The number of body bytes after which the sending stops before its end; undefined = it does not. */
function stopsAfter({ hangUp, chunkedCut, closeDelimited, stallAfter }: Effect): number | undefined {
  return hangUp ?? chunkedCut ?? (typeof closeDelimited === 'number' ? closeDelimited : undefined) ?? stallAfter;
}

async function* firstBytes(chunks: Chunks, limit: number): AsyncGenerator<Buffer> {
  let left = limit;
  for await (const chunk of chunks) {
    if (left <= 0) return;
    yield chunk.subarray(0, left);
    left -= chunk.length;
  }
}

async function* slowly(chunks: Chunks, bytesPerSecond: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const piece = Math.max(1, Math.floor(bytesPerSecond / PIECES_PER_SECOND));
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += piece) {
      await sleep((piece / bytesPerSecond) * 1000, undefined, { signal });
      yield chunk.subarray(at, at + piece);
    }
  }
}

function shaped(chunks: Chunks, effect: Effect, signal: AbortSignal): Chunks {
  const limit = stopsAfter(effect);
  const coded = effect.gzip ? Readable.from(chunks).pipe(createGzip()) : chunks;
  const cut = limit === undefined ? coded : firstBytes(coded, limit);
  return effect.bytesPerSecond === undefined ? cut : slowly(cut, effect.bytesPerSecond, signal);
}

function declareLength(outgoing: ServerResponse, length: number, effect: Effect): void {
  const { closeDelimited, chunkedCut, gzip, declaredLength = 0 } = effect;
  if (closeDelimited !== undefined) {
    outgoing.setHeader('Connection', 'close');
    outgoing.removeHeader('Transfer-Encoding');
  } else if (chunkedCut === undefined && !gzip) {
    outgoing.setHeader('Content-Length', Math.max(0, length + declaredLength));
  }
}

async function finish(outgoing: ServerResponse, effect: Effect, signal: AbortSignal): Promise<void> {
  if (effect.stallAfter !== undefined) {
    if (!signal.aborted) await once(signal, 'abort');
  } else if (stopsAfter(effect) !== undefined || effect.declaredLength !== undefined) {
    outgoing.socket?.destroySoon();
  } else {
    outgoing.end();
    await once(outgoing, 'finish', { signal });
  }
}

/** Sends a body over the raw answer as the effect has it, noted in the ledger, until it is sent or the connection gone. */
export async function sendBody(
  outgoing: ServerResponse,
  { chunks, length, effect, call }: { chunks: Chunks; length: number; effect: Effect; call: LedgerCall },
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  call.bytes = 0;
  call.complete = false;
  declareLength(outgoing, length, effect);
  outgoing.flushHeaders();
  try {
    for await (const chunk of shaped(chunks, effect, gone.signal)) {
      if (gone.signal.aborted) return;
      call.bytes += chunk.length;
      if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal: gone.signal });
    }
    await finish(outgoing, effect, gone.signal);
    call.complete = stopsAfter(effect) === undefined;
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}
