import { crc32 } from 'node:zlib';
import { expect } from 'vitest';
import { parsePart } from '../../../core/batch/batch-results.ts';
import { keysOf } from '../../../core/batch/batch-store.ts';
import { feedsOf, headKey } from '../../../core/changes/feed-keys.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { expectTruth } from '../../support/batches.ts';
import type { World } from './world.ts';

/** The conditions that must hold in every world, after any fault. */

const LATEST = 'published/entity=leads/latest.json';
/** The objects that may contain customer data. */
const CONTENT = /\.(csv|parquet)$|input\.jsonl$/;

function json(world: World, key: string) {
  const object = world.store.object(key);
  return object && JSON.parse(object.body.toString());
}

/** Expects a whole file for every pointer. @returns the run that `latest.json` names */
export function expectReadable(world: World): string {
  const pointers = world.store.keys().filter((key) => key.startsWith('published/entity='));
  for (const key of pointers) {
    const manifest = json(world, json(world, key).manifestKey);
    const body = world.store.object(manifest.file.key)?.body ?? Buffer.alloc(0);
    expect(body.length, key).toBe(manifest.file.bytes);
    expect(crc32Text(crc32(body)), key).toBe(manifest.file.crc32);
  }
  return json(world, LATEST).execution;
}

export function expectSameFile(world: World, run: string, other: string): void {
  const file = (name: string) => world.store.object(`runs/entity=leads/run=${name}/leads.csv`)?.body.toString();
  expect(file(run)).toBe(file(other));
}

/** Expects one write per key, except for tables and for a head of feeds that gets its earlier content back. */
export function expectWrittenOnce(world: World): void {
  const done = world.store.calls.filter(({ operation, status }) => {
    return (operation === 'PutObject' || operation === 'CompleteMultipartUpload') && status === 200;
  });
  const written = Map.groupBy(done, ({ key, headers }) => `${key} ${headers['if-match'] ?? ''}`);
  for (const [what, calls] of written) if (!/^tables\/|\/head\.json /.test(what)) expect(calls.length, what).toBe(1);
}

/** The head of the feeds and all their objects, byte for byte; `undefined` without feeds. */
export function fedBy(world: World) {
  const head = json(world, headKey('leads'));
  if (!head) return undefined;
  const { sequence, end, pair, stopped } = head;
  const keys = world.store.keys().filter((key) => key.startsWith(feedsOf('leads')) && key !== headKey('leads'));
  const objects = keys.sort().map((key) => `${key} ${world.store.object(key)?.etag}`);
  return { sequence, run: end.run, pair, stopped, objects };
}

/** Expects no token, file address or customer data where a person without a right to it could read it. */
export function expectNoCanary(world: World): void {
  const { store, aws, states, said, secrets, causes } = world;
  const objects = store.keys().map((key) => {
    const { body, headers } = store.object(key) ?? {};
    return [key, headers, CONTENT.test(key) ? '' : body?.toString()];
  });
  const text = JSON.stringify([objects, aws.ledger.rows(), states, causes, said()]);
  for (const secret of secrets) expect(text.includes(secret), `a canary in: ${excerpt(text, secret)}`).toBe(false);
}

function excerpt(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return text.slice(Math.max(0, at - 200), at);
}

/** Expects a true result for every line of a batch that has one. @returns lines by outcome */
export function resultsOf(world: World, batch: string): Map<string, string[]> | undefined {
  const text = world.store.object(keysOf(batch).result)?.body.toString();
  if (text === undefined) return undefined;
  const results = parsePart(text).results;
  const calls = Map.groupBy(world.sandbox.ledger.calls({ kind: 'update' }), ({ customerId }) => customerId);
  expectTruth(results, results.length, ({ id }) => calls.get(id) ?? []);
  const byOutcome = Map.groupBy(results, ({ outcome }) => String(outcome));
  return new Map([...byOutcome].map(([outcome, lines]) => [outcome, lines.map(({ id }) => id)]));
}
