import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect } from '../faults.ts';
import type { LedgerCall } from '../world.ts';

type Chunks = AsyncIterable<Buffer> | Iterable<Buffer>;

/** The number of pieces that a slow sender sends in a second. */
const PIECES_PER_SECOND = 20;

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

async function finish(outgoing: ServerResponse, { stallAfter, hangUp }: Effect, signal: AbortSignal): Promise<void> {
  if (stallAfter !== undefined) {
    if (!signal.aborted) await once(signal, 'abort');
  } else if (hangUp !== undefined) {
    outgoing.socket?.destroySoon();
  } else {
    outgoing.end();
    await once(outgoing, 'finish', { signal });
  }
}

/** Sends a body on the raw response with the effect of the faults, and records it in the ledger, until its end. */
export async function sendBody(
  outgoing: ServerResponse,
  { chunks, length, effect, call }: { chunks: Chunks; length: number; effect: Effect; call: LedgerCall },
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  call.bytes = 0;
  call.complete = false;
  outgoing.setHeader('Content-Length', length);
  outgoing.flushHeaders();
  const { bytesPerSecond, hangUp, stallAfter } = effect;
  const limit = hangUp ?? stallAfter;
  const cut = limit === undefined ? chunks : firstBytes(chunks, limit);
  const sent = bytesPerSecond === undefined ? cut : slowly(cut, bytesPerSecond, gone.signal);
  try {
    for await (const chunk of sent) {
      if (gone.signal.aborted) return;
      call.bytes += chunk.length;
      if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal: gone.signal });
    }
    await finish(outgoing, effect, gone.signal);
    call.complete = limit === undefined;
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}
