import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { headKey } from '../../../core/changes/chain/feed-keys.ts';
import { dateAfter } from '../../../core/schedule/local-time.ts';
import { type FeedSettings, night } from '../../support/feed-runs.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { aws } from '../support/cloud/cloud.ts';

/** A night: its file, settings that are others than before, and whether the head of the feeds is gone by then. */
export type Night = string | { csv: string; settings?: FeedSettings; anew?: boolean };

/**
 * Feeds of leads as the steps write them, of nights from 2026-11-20 on by the runs night-1, night-2, …, in the bucket of a deployment.
 * The key is `id`.
 */
export async function feedsOf(...nights: Night[]) {
  const world = await publishedRuns();
  for (const [place, each] of nights.entries()) {
    const { csv, settings, anew = false } = typeof each === 'string' ? { csv: each } : each;
    if (anew) await world.client.send(new DeleteObjectCommand({ Bucket: 'exports', Key: headKey('leads') }));
    await night(world, `night-${place + 1}`, dateOf(place + 1), csv, settings);
  }
  const cloud = await aws();
  for (const key of world.store.keys().filter((each) => each.startsWith('changes/'))) {
    const object = world.store.object(key);
    cloud.objects.set(key, object?.body ?? Buffer.alloc(0));
    cloud.etags.set(key, object?.etag ?? '');
  }
  return {
    ...cloud,
    changes: (...args: string[]) => cloud.cli('changes', 'leads', ...args),
    history: (...args: string[]) => cloud.cli('history', 'leads', ...args),
    /** Removes the rows of the feed of a night, or all of it. */
    lose: (place: number, whole: boolean) => {
      const folder = `changes/entity=leads/date=${dateOf(place)}/`;
      const names = [...cloud.objects.keys()].filter((key) => key.startsWith(folder));
      for (const key of names) if (whole || key.endsWith('.parquet')) cloud.objects.delete(key);
    },
  };
}

/** The date of a night, from 1 on. */
export const dateOf = (place: number) => dateAfter('2026-11-19', place);

/** The terminal of a command, for the length of its run. */
export async function onTerminal<T>(columns: number, run: () => Promise<T>): Promise<T> {
  const { stdout } = process;
  const before = Object.getOwnPropertyDescriptor(stdout, 'columns');
  Object.defineProperty(stdout, 'columns', { value: columns, configurable: true });
  try {
    return await run();
  } finally {
    if (before) Object.defineProperty(stdout, 'columns', before);
    else Reflect.deleteProperty(stdout, 'columns');
  }
}
