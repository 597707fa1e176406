import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { LocalCopies } from '../../../lambdas/write-changes/local-copies.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { tree } from '../../lib/support/files.ts';
import { failureOf } from '../../support/failures.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { depsOn, feedsIn, headOf, many, night, publish, stateOf } from './support.ts';

/** A device that refuses every byte: `ENOSPC`. */
const FULL = '/dev/full';

/** A separate folder for temporary files. */
function temporaryFolder(): string {
  const folder = join(tree({}), 'tmp');
  mkdirSync(folder);
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

test.skipIf(!existsSync(FULL))('a disk that is full when the feed is written is an error by its name', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(30));
  await publish(world, 'night-2', '2026-11-21', many(29));
  const folder = temporaryFolder();
  const deps = depsOn(world);
  // The copies succeed; after them the disk is full.
  const head: typeof deps.objects.head = (key) => {
    for (const own of readdirSync(folder).filter((name) => name.startsWith('feed-'))) {
      const feed = join(folder, own, 'changes.parquet');
      if (!existsSync(feed)) symlinkSync(FULL, feed);
    }
    return deps.objects.head(key);
  };

  const error = await failureOf(
    writeChanges(stateOf('night-2'), { ...deps, objects: { ...deps.objects, head } }),
    'ChangesNotWritten',
  );

  expect(error.message).toContain("do not fit on the function's disk of 10240 MB");
  expect(headOf(world)).toMatchObject({ sequence: 1, end: { run: 'night-1' } });
  expect(feedsIn(world)).toHaveLength(1);
  expect(readdirSync(folder)).toEqual([]);
  vi.unstubAllEnvs();
  expect(await writeChanges(stateOf('night-2'), depsOn(world))).toMatchObject({ feed: { sequence: 2, deletes: 1 } });
});

test.skipIf(!existsSync(FULL))('a disk that is full when a table is copied onto it is said by its code', async () => {
  temporaryFolder();
  const world = await publishedRuns();
  await world.put('tables/one', 'a table');
  const { bucket, objects } = depsOn(world);
  const copies = new LocalCopies(bucket, () => undefined);
  symlinkSync(FULL, join(await copies.folder(), '0.parquet'));
  const found = await objects.head('tables/one');

  await expect(copies.read({ key: 'tables/one', etag: found?.etag ?? '', bytes: 7 })).rejects.toMatchObject({
    code: 'ENOSPC',
  });
  await copies.close();
});
