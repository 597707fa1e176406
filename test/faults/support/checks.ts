import { crc32 } from 'node:zlib';
import { expect } from 'vitest';
import { parseResults } from '../../../core/batch/batch-results.ts';
import { keysOf } from '../../../core/batch/batch-store.ts';
import { feedsOf, headKey } from '../../../core/changes/chain/feed-keys.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import type { World } from './world.ts';

/** What has to hold in every world, whatever went wrong in it. */

const LATEST = 'published/entity=leads/latest.json';
/** What may hold data of customers. */
const CONTENT = /\.(csv|parquet)$|input\.jsonl$/;

function json(world: World, key: string) {
  const object = world.store.object(key);
  return object && JSON.parse(object.body.toString());
}

/** Readers find a whole file behind every pointer. @returns the run that `latest.json` names */
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

/** The file of a run is the one that the CRM gives, from its first byte to its last. */
export function expectSameFile(world: World, run: string, other: string): void {
  const file = (name: string) => world.store.object(`runs/entity=leads/run=${name}/leads.csv`)?.body.toString();
  expect(file(run)).toBe(file(other));
}

/** Whatever is written once was written once: pointers of each run, manifests, files, results. Tables are replaced by themselves, and a head of feeds says what it said before where a pair is given back. */
export function expectWrittenOnce(world: World): void {
  const done = world.store.calls.filter(({ operation, status }) => {
    return (operation === 'PutObject' || operation === 'CompleteMultipartUpload') && status === 200;
  });
  const written = Map.groupBy(done, ({ key, headers }) => `${key} ${headers['if-match'] ?? ''}`);
  for (const [what, calls] of written) if (!/^tables\/|\/head\.json /.test(what)) expect(calls.length, what).toBe(1);
}

/** Where the feeds stand, and every object of theirs, byte for byte; `undefined` where there are none. */
export function fedBy(world: World) {
  const head = json(world, headKey('leads'));
  if (!head) return undefined;
  const { sequence, end, pair, stopped } = head;
  const keys = world.store.keys().filter((key) => key.startsWith(feedsOf('leads')) && key !== headKey('leads'));
  const objects = keys.sort().map((key) => `${key} ${world.store.object(key)?.etag}`);
  return { sequence, run: end.run, pair, stopped, objects };
}

/** No token, address of a file or data of a customer is where a person without a right to it could read it. */
export function expectNoCanary(world: World): void {
  const { store, aws, states, said, secrets, causes } = world;
  const objects = store.keys().map((key) => {
    const { body, headers } = store.object(key) ?? {};
    return [key, headers, CONTENT.test(key) ? '' : body?.toString()];
  });
  const text = JSON.stringify([objects, aws.ledger.plain(), states, causes, said()]);
  for (const secret of secrets) expect(text.includes(secret), `a canary in: ${around(text, secret)}`).toBe(false);
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return text.slice(Math.max(0, at - 200), at);
}

/** Every line of a batch has at most one result, which the ledger of the CRM confirms. @returns lines by outcome */
export function expectTruth(world: World, batch: string): Map<string, string[]> | undefined {
  const text = world.store.object(keysOf(batch).result)?.body.toString();
  if (text === undefined) return undefined;
  const results = parseResults(text);
  const calls = Map.groupBy(world.sandbox.ledger.calls({ kind: 'update' }), ({ customerId }) => customerId);
  expect(results.map(({ line }) => line)).toEqual(results.map((_, index) => index + 1));
  for (const { id, outcome } of results) {
    const applied = (calls.get(id) ?? []).some((call) => call.applied);
    if (outcome === 'APPLIED') expect(applied, id).toBe(true);
    if (outcome === 'REJECTED' || outcome === 'FAILED' || outcome === 'NOT_SENT') expect(applied, id).toBe(false);
    if (outcome === 'NOT_SENT') expect(calls.get(id) ?? [], id).toEqual([]);
  }
  const byOutcome = Map.groupBy(results, ({ outcome }) => String(outcome));
  return new Map([...byOutcome].map(([outcome, lines]) => [outcome, lines.map(({ id }) => id)]));
}
