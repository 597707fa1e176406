import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { headKey } from '../../../core/changes/feed-keys.ts';
import { rowsIn } from '../../core/table/support.ts';
import { tree } from '../../lib/support/files.ts';
import type { depsOn, FeedWorld as World } from '../../support/feed-runs.ts';

export { depsOn, type FeedWorld as World, night, publish, stateOf } from '../../support/feed-runs.ts';

export const feedKeyOf = (run: string, date: string) => `changes/entity=leads/date=${date}/run=${run}/changes.parquet`;
/** The head, or the head of a chain without feeds if none exists. */
export const headOf = ({ store }: World) =>
  JSON.parse(String(store.object(headKey('leads'))?.body ?? '{"sequence":0,"end":null,"pair":null}'));
export const feedsIn = ({ store }: World) =>
  store
    .keys()
    .filter((key) => /^changes\/.*changes\.parquet$/.test(key))
    .sort();

/** Rows of a feed: change, id, name. */
export async function rowsOf({ store }: World, key: string): Promise<string[]> {
  const file = join(tree({}), 'changes.parquet');
  writeFileSync(file, store.object(key)?.body ?? '');
  const rows = await rowsIn(file);
  return rows.map(({ _change_type: type, id, name }) => [type, id, name].join(' ')).sort();
}

export const many = (count: number, from = 0) =>
  `id,name\n${Array.from({ length: count }, (_, place) => `${from + place},n${from + place}\n`).join('')}`;

/** A function with the given memory. */
export function withMemory(deps: ReturnType<typeof depsOn>, tableMemoryMB: number): ReturnType<typeof depsOn> {
  return { ...deps, deployment: { ...deps.deployment, tableMemoryMB } };
}
