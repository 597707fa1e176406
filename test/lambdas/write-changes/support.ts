import { rowsOfStored } from '../../core/table/support.ts';
import { type FeedSettings, night, type FeedWorld as World } from '../../support/feed-runs.ts';
import { publishedRuns } from '../../support/published-run.ts';

export { beforePut, depsOn, expire, headOf, night, publish, stateOf } from '../../support/feed-runs.ts';

export const feedKeyOf = (run: string, date: string) => `changes/entity=leads/date=${date}/run=${run}/changes.parquet`;
export const feedsIn = ({ store }: World) =>
  store
    .keys()
    .filter((key) => /^changes\/.*changes\.parquet$/.test(key))
    .sort();

/** Rows of a feed: change, id, name. */
export async function rowsOf({ store }: World, key: string): Promise<string[]> {
  const rows = await rowsOfStored(store.object(key)?.body);
  return rows.map(({ _change_type: type, id, name }) => [type, id, name].join(' ')).sort();
}

/** The bucket after the first night of leads, and its first feed. */
export async function firstNight(csv: string, settings?: FeedSettings): Promise<World> {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', csv, settings);
  return world;
}

export const many = (count: number, from = 0) =>
  `id,name\n${Array.from({ length: count }, (_, place) => `${from + place},n${from + place}\n`).join('')}`;
