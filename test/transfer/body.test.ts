import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Blocks } from '../../transfer/source/blocks.ts';
import { Body } from '../../transfer/source/body.ts';
import { LIMITS } from '../support/transfer-limits.ts';

/** A body that comes through a stream, and a clock that stands still between two of its chunks. */
function bodyOfStream() {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const limits = { ...LIMITS, idleMs: 60_000, floorMs: 1000, floorBytesPerSecond: 100 };
  const body = new Body({ limits, signal: new AbortController().signal } as never, new Blocks());
  const [request, response] = [new EventEmitter(), Object.assign(new PassThrough(), { statusCode: 200, headers: {} })];
  body.attach(request as never);
  request.emit('response', response);
  body.begin(null);
  /** Waits for the next chunk, which comes after that time. */
  return async (milliseconds: number, bytes: number) => {
    const next = body.next();
    await turn();
    vi.advanceTimersByTime(milliseconds);
    response.write(Buffer.alloc(bytes));
    return (await next)?.length;
  };
}

test('a slow origin counts as silent even if it was fast before', async () => {
  const chunkAfter = bodyOfStream();
  expect(await chunkAfter(500, 10_000)).toBe(10_000);
  expect(await chunkAfter(500, 10)).toBe(10);
  expect(await chunkAfter(500, 10)).toBe(10);

  await expect(chunkAfter(500, 10)).rejects.toMatchObject({ reason: 'stalled' });
});
