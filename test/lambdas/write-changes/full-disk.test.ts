import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { tree } from '../../lib/support/files.ts';
import { failureOf } from '../../support/failures.ts';
import { expectTexts } from '../../support/screen.ts';
import { depsOn, feedsIn, firstNight, headOf, many, publish, stateOf } from './support.ts';

/** A device that refuses every byte: `ENOSPC`. */
const FULL = '/dev/full';

function temporaryFolder(): string {
  const folder = join(tree({}), 'tmp');
  mkdirSync(folder);
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

test.skipIf(!existsSync(FULL))('ends in ChangesNotWritten if the disk is full while the feed is written', async () => {
  const world = await firstNight(many(30));
  await publish(world, 'night-2', '2026-11-21', many(29));
  const folder = temporaryFolder();
  const deps = depsOn(world);
  // The copies succeed; after them the disk is full.
  const head: typeof deps.bucket.head = (key) => {
    for (const own of readdirSync(folder).filter((name) => name.startsWith('feed-'))) {
      const feed = join(folder, own, 'changes.parquet');
      if (!existsSync(feed)) symlinkSync(FULL, feed);
    }
    return deps.bucket.head(key);
  };

  const error = await failureOf(
    writeChanges(stateOf('night-2'), { ...deps, bucket: { ...deps.bucket, head } }),
    'ChangesNotWritten',
  );

  await expectTexts('feed-full-disk', [['tables that do not fit on the disk', error.message]]);
  expect(headOf(world)).toMatchObject({ sequence: 1, end: { run: 'night-1' } });
  expect(feedsIn(world)).toHaveLength(1);
  expect(readdirSync(folder)).toEqual([]);
  vi.unstubAllEnvs();
  expect(await writeChanges(stateOf('night-2'), depsOn(world))).toMatchObject({ feed: { sequence: 2, deletes: 1 } });
});
