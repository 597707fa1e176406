import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect } from '../faults.ts';
import type { LedgerCall } from '../world.ts';

/** The number of pieces per second of a slow sender. */
const PIECES_PER_SECOND = 20;

/** The bytes up to the limit of a fault, at its rate. */
async function* paced(chunks: Iterable<Buffer>, limit: number, { bytesPerSecond }: Effect, signal: AbortSignal) {
  const piece = bytesPerSecond ? Math.max(1, Math.floor(bytesPerSecond / PIECES_PER_SECOND)) : Number.POSITIVE_INFINITY;
  let left = limit;
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length && left > 0; at += piece) {
      if (bytesPerSecond) await sleep((piece / bytesPerSecond) * 1000, undefined, { signal });
      const part = chunk.subarray(at, at + Math.min(piece, left));
      left -= part.length;
      yield part;
    }
    if (left <= 0) return;
  }
}

async function finish(outgoing: ServerResponse, { stallAfter, hangUp }: Effect, signal: AbortSignal): Promise<void> {
  if (hangUp !== undefined) {
    outgoing.socket?.destroySoon();
  } else if (stallAfter !== undefined) {
    if (!signal.aborted) await once(signal, 'abort');
  } else {
    outgoing.end();
    await once(outgoing, 'finish', { signal });
  }
}

/** Sends a body on the raw response with the effect of the faults, and records it in the ledger, until its end. */
export async function sendBody(
  outgoing: ServerResponse,
  { chunks, length, effect, call }: { chunks: Iterable<Buffer>; length: number; effect: Effect; call: LedgerCall },
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  call.bytes = 0;
  call.complete = false;
  outgoing.setHeader('Content-Length', length);
  outgoing.flushHeaders();
  const limit = effect.hangUp ?? effect.stallAfter ?? Number.POSITIVE_INFINITY;
  try {
    for await (const chunk of paced(chunks, limit, effect, gone.signal)) {
      if (gone.signal.aborted) return;
      call.bytes += chunk.length;
      if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal: gone.signal });
    }
    await finish(outgoing, effect, gone.signal);
    call.complete = limit === Number.POSITIVE_INFINITY;
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}
