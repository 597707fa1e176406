import { expect, test } from 'vitest';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { mortal } from '../../support/mortal.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { depsOn, feedKeyOf, feedsIn, headOf, many, night, publish, rowsOf, stateOf } from './support.ts';

/** An invocation that ends at any moment. The model of the chain (`interleavings.test.ts`) has kills between others. */

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

test.each([
  ['before', false],
  ['after', true],
])(
  'a kill %s any request leaves a chain that the next invocation completes',
  { timeout: 180_000 },
  async (_, behind) => {
    // A death after a request equals a death before the next one, so every second step covers all.
    for (let dies = 1; ; dies += 2) {
      const world = await publishedRuns();
      await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n2,b\n');
      await publish(world, 'night-2', '2026-11-21', 'id,name\n1,a\n2,c\n');
      const deps = mortal(depsOn(world), ['bucket'], dies, behind);
      await writeChanges(stateOf('night-2'), deps).catch(() => undefined);
      if (deps.lived()) {
        expect(dies).toBeGreaterThan(10);
        break;
      }

      const next = await writeChanges(stateOf('night-2'), depsOn(world));

      // Also if the first invocation died after its last write.
      expect(next).toMatchObject({ outcome: 'CHANGES_WRITTEN', feed: { run: 'night-2', sequence: 2, updates: 1 } });
      expect(headOf(world)).toMatchObject({ sequence: 2, pair: null, end: { run: 'night-2' } });
      expect(feedsIn(world)).toEqual([feedKeyOf('night-1', '2026-11-20'), feedKeyOf('night-2', '2026-11-21')]);
      expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-21'))).toEqual([
        'update_postimage 2 c',
        'update_preimage 2 b',
      ]);
    }
  },
);
