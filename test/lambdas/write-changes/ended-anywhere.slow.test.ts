import { expect, test } from 'vitest';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { depsOn, feedsIn, headOf, many, night, publish, stateOf } from './support.ts';

/** An invocation whose time runs out. The orders of requests (`chain/interleavings.test.ts`) have kills at any request. */

test('ends in ChangesNotWritten at any query if time runs out, and the next invocation writes the feed', {
  timeout: 180_000,
}, async () => {
  let tried = 0;
  for (let looks = 0; ; looks += 2) {
    const world = await publishedRuns();
    await night(world, 'night-1', '2026-11-20', many(40));
    await publish(world, 'night-2', '2026-11-21', many(39));
    let left = looks;
    const secondsLeft = () => {
      left -= 1;
      return left >= 0 ? 900 : 20;
    };

    const first = writeChanges(stateOf('night-2'), { ...depsOn(world), secondsLeft });
    if (await first.catch(() => undefined)) break;

    const late = await failureOf(first, 'ChangesNotWritten');
    expect(late.message).toContain('tableMemoryMB');
    expect(headOf(world)).toMatchObject({ sequence: 1, end: { run: 'night-1' } });
    expect(feedsIn(world)).toHaveLength(1);
    // The step stores no feed before the comparison has succeeded.
    expect(headOf(world).pair).toBeNull();
    tried += 1;
    const next = await writeChanges(stateOf('night-2'), depsOn(world));
    expect(next).toMatchObject({ feed: { run: 'night-2', sequence: 2, kind: 'changes', deletes: 1 } });
  }
  // Each query looks at the time once.
  expect(tried).toBeGreaterThan(8);
});
