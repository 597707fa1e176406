import { keysOf } from '../../../core/batch/batch-store.ts';
import { headKey } from '../../../core/changes/feed-keys.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox-settings.ts';
import type { Execution } from '../../lib/support/interpreter.ts';
import { FIRST_VERSION } from '../../oauth/support/simulation.ts';
import { PART } from '../../support/transfer-limits.ts';
import type { Scenario } from '../calls.ts';
import { CANARY, type Entities, startWorld, type World } from './world.ts';

/** The start of leads on this night and on the night before. */
const START = '2026-11-20T01:00:00.000Z';
const DAY_BEFORE = '2026-11-19T01:00:00.000Z';
const FAILED_RUN = 'night-1';
/** The execution that meets the fault. */
const EXECUTION = 'night-2';

export interface Story {
  /** The run whose file readers have in the end. Default: the execution itself; after its failure, the retry's run. */
  publishes?: string;
  /** The action of a person after a failed execution. */
  again?: (world: World, name: string) => Promise<Execution>;
  sandbox?: SandboxOptions;
  entities?: Entities;
  /** The events before the execution that meets the fault. */
  before?: (world: World) => Promise<unknown>;
  execute: (world: World) => Promise<Execution>;
}

const byRule = (at: string, name: string) => (world: World) =>
  world.execute('ExportRun', { name, input: { entity: 'leads', scheduledFor: at.replace('.000', '') } });

/** Starts a retry as `npx --no -- crm-export retry` does. */
function retry(world: World, failed: string, name: string): Promise<Execution> {
  return world.execute('ExportRun', { name, input: { entity: 'leads', date: START.slice(0, 10), adopt: failed } });
}

/** Starts a release as `npx --no -- crm-export release` does. */
function release(world: World, name: string): Promise<Execution> {
  return world.execute('ExportRun', { name, input: { entity: 'leads', release: FAILED_RUN, reason: 'It is right.' } });
}

const anew = (world: World, name: string) => retry(world, EXECUTION, name);

export const IDS = [0, 1, 2].map((index) => idAt('customers', index));

const LEFT_OUT: Entities = Object.fromEntries(
  ENTITIES.filter((entity) => entity !== 'leads').map((entity) => [entity, { enabled: false }]),
);

/** A table of every column, as large as the file, and its feed. */
const FEEDS: Entities = { ...LEFT_OUT, leads: { tables: { hash: ['email', 'cellNumber'] }, changes: { key: 'id' } } };

export const STORIES: Record<Scenario, Story> = {
  night: { execute: byRule(START, EXECUTION), again: anew },
  'large file': { sandbox: { bytes: 5 * PART }, execute: byRule(START, EXECUTION), again: anew },
  retry: {
    before: async (world) => {
      world.meet = async ({ call, answer, done }) => {
        if (call !== 'read the status') return answer(await done());
        answer({ status: 403, headers: {}, body: Buffer.from('{}') });
      };
      await byRule(START, FAILED_RUN)(world);
      world.meet = undefined;
    },
    execute: (world) => retry(world, FAILED_RUN, EXECUTION),
    again: anew,
  },
  release: {
    publishes: FAILED_RUN,
    before: async (world) => {
      const { settings } = world.sandbox;
      const { rows } = settings;
      settings.rows = 0;
      await byRule(START, FAILED_RUN)(world);
      settings.rows = rows;
    },
    execute: (world) => release(world, EXECUTION),
    again: release,
  },
  table: {
    publishes: EXECUTION,
    // A night with leads alone is complete with their run.
    entities: { ...LEFT_OUT, leads: { columns: ['id', 'firstName', 'email'], tables: { hash: ['email'] } } },
    execute: byRule(START, EXECUTION),
    again: (world, name) => world.execute('ExportRun', { name, input: { entity: 'leads', table: { run: EXECUTION } } }),
  },
  changes: {
    publishes: EXECUTION,
    entities: FEEDS,
    before: async ({ sandbox: { settings } }) => {
      settings.rows = 14;
    },
    execute: byRule(START, EXECUTION),
    again: (world, name) => world.execute('ExportRun', { name, input: { entity: 'leads', table: { run: EXECUTION } } }),
  },
  'large feed': {
    publishes: EXECUTION,
    sandbox: { bytes: 5 * PART },
    entities: FEEDS,
    before: async (world) => world.store.remove(headKey('leads')),
    execute: byRule(START, EXECUTION),
    again: (world, name) => world.execute('ExportRun', { name, input: { entity: 'leads', table: { run: EXECUTION } } }),
  },
  batch: { execute: (world) => batch(world, 'b1', IDS) },
  'stopped batch': {
    before: async ({ sandbox }) => {
      sandbox.faults.add({ path: 'update', customers: [IDS[1] ?? ''], answer: { status: 422 } });
    },
    execute: (world) => batch(world, 'b1', IDS, { stopAfterFailures: 1 }),
  },
};

/** Uploads a batch that changes these customers, and applies it. */
export function batch(world: World, name: string, ids: string[], options = {}): Promise<Execution> {
  const file = keysOf(name).input;
  const lines = ids.map((id) => `${JSON.stringify({ id, city: `Haifa ${CANARY}` })}\n`);
  world.store.upload(file, lines.join(''));
  return world.execute('CustomerUpdates', { name: `${name}-1`, input: { file, ...options } });
}

type Seed = Map<string, NonNullable<ReturnType<World['store']['object']>>>;
const seeds = new Map<string, Promise<Seed>>();

/** The world of a scenario at the start of the execution that meets the fault. */
export async function worldOf(scenario: Scenario): Promise<World> {
  const { sandbox = {}, entities = {}, before } = STORIES[scenario];
  const key = JSON.stringify({ sandbox, entities });
  const seed = seeds.get(key) ?? publishedDayBefore(sandbox, entities);
  seeds.set(key, seed);
  const objects = await seed;
  const world = await startWorld(START, sandbox, entities);
  for (const [name, object] of objects) world.store.place(name, object);
  storeGrant(world);
  await before?.(world);
  world.forgetCalls();
  world.sandbox.ledger.clear();
  return world;
}

function storeGrant({ aws: { secrets }, sandbox, newTokens }: World): void {
  const { clientId, clientSecret } = sandbox;
  secrets.oauthClient = JSON.stringify({ clientId, clientSecret });
  secrets.place(FIRST_VERSION, newTokens(0));
}

/** The objects of the night before in the bucket. */
async function publishedDayBefore(sandbox: SandboxOptions, entities: Entities): Promise<Seed> {
  const world = await startWorld(DAY_BEFORE, sandbox, entities);
  storeGrant(world);
  const { status } = await byRule(DAY_BEFORE, 'night-0')(world);
  if (status !== 'SUCCEEDED') throw new Error('the night before has failed');
  const { store } = world;
  const seed: Seed = new Map(
    store.keys().flatMap((name) => {
      const object = store.object(name);
      return object ? [[name, object] as const] : [];
    }),
  );
  await world.stop();
  return seed;
}
