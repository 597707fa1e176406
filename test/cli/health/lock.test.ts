import { expect, onTestFinished, test, vi } from 'vitest';
import { takeLock } from '../../../cli/health/verify.ts';
import { waitUntil } from '../../../local/processes/wait-until.ts';
import { type Handler, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

/** A ledger with one item for the conditional writes of the lock. */
async function ledger(item: { owner?: string; deadline?: number } = {}) {
  const write: Handler = ({ operation, input }) => {
    const values = input.ExpressionAttributeValues as Record<string, { S?: string; N?: string }>;
    const free = item.owner === undefined || (values[':now'] && (item.deadline ?? 0) < Number(values[':now'].N));
    const ours = item.owner === values[':owner']?.S;
    if (!free && !ours) {
      return refused('ConditionalCheckFailedException', '', { Item: { deadline: { N: String(item.deadline) } } });
    }
    const written = { owner: values[':owner']?.S, deadline: Number(values[':deadline']?.N) };
    Object.assign(item, operation === 'DeleteItem' ? { owner: undefined } : written);
    return {};
  };
  const { asked, target } = await aws({ dynamodb: write });
  return { item, asked, place: target };
}

const at = (time: string) => () => Date.parse(`2026-11-22T${time}Z`);

test('a lock that another has is refused with the time at which it expires, and is taken after that', async () => {
  const { place, item } = await ledger({ owner: 'another', deadline: at('02:02:00')() });

  await expect(takeLock(place, 'a', at('02:00:00'))).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/if it was killed, until 02:02:00 UTC\)\. Nothing was made\.$/),
  });
  await (await takeLock(place, 'a', at('02:02:01'))).release();
  expect(item.owner).toBeUndefined();
});

test('a lock is renewed while it is held; whoever has lost it learns so, and does not release that of another', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { place, item, asked } = await ledger();
  let time = at('02:00:00');
  const lock = await takeLock(place, 'a', () => time());

  time = at('02:00:30');
  vi.advanceTimersByTime(30_000);
  await waitUntil(() => item.deadline === at('02:02:30')(), { withinMs: 5000 });
  item.owner = 'another';
  vi.advanceTimersByTime(30_000);
  await waitUntil(() => lock.lost.aborted, { withinMs: 5000 });

  expect(lock.lost.reason.message).toMatch(/^Another verify of this deployment is under way/);
  await lock.release();
  expect(item.owner).toBe('another');
  expect(asked).toEqual(['UpdateItem', 'UpdateItem', 'UpdateItem', 'DeleteItem']);
});
