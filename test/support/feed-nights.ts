import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { readHead, writeHead } from '../../core/changes/chain/head.ts';
import { latestPointerKey, readPointer } from '../../core/export/pointer.ts';
import { tableKey } from '../../core/table/stored-table.ts';
import { type WriteChangesDeps, writeChanges } from '../../lambdas/write-changes/write-changes.ts';
import { type WriteTableDeps, writeTable } from '../../lambdas/write-table/write-table.ts';
import { deployment, runState } from './builders.ts';
import { testDeps } from './deps.ts';
import { manifestKeyOf } from './manifests.ts';
import { type EndOfNight, type Night, nightsIn } from './nights.ts';
import { publishedRuns } from './published-run.ts';
import type { FaultScript } from './strict-store/types.ts';

/** The settings of leads on a night. */
export interface FeedSettings {
  tables: object;
  changes: { key: string | string[]; ignore?: string[]; maxRemoved?: number };
}

/** The dependencies of the steps of a run. */
export type StepDeps = WriteTableDeps & WriteChangesDeps;

/**
 * Nights of leads with feeds. Each passes through the real steps, from the stored file to the feed, in S3 on loopback.
 */
export async function feedNights() {
  let faults: FaultScript | undefined;
  const world = await publishedRuns({ faults: (request) => faults?.(request) });
  const { store, client } = world;
  const { bucket } = world.stored(1000);
  const text = (key: string) => store.object(key)?.body.toString();
  const open = { ...bucket, put: world.put, text };
  const leadsOf = (settings: FeedSettings) => ({ ...settings, guards: { maxShrink: 0.9 } });

  /** @param now the time of the function's clock */
  const depsOf = (settings: FeedSettings, now: string): StepDeps => ({
    ...testDeps({ deployment: deployment({ entities: { leads: leadsOf(settings) } }), now: () => new Date(now) }),
    ...{ bucket, softwareVersion: '1.2.3' },
    hashKey: async () => 'k'.repeat(64),
  });

  /** The newest published run. */
  const newest = async () => (await readPointer(bucket, latestPointerKey('leads'))).run;
  const head = async () => (await readHead(bucket, 'leads')).head;

  return {
    ...{ store, depsOf, newest, head },
    /** Runs steps while S3 has these faults. */
    under: async <T>(script: FaultScript, steps: () => Promise<T>): Promise<T> => {
      faults = script;
      return steps().finally(() => {
        faults = undefined;
      });
    },
    /** Stores a file and publishes it if it passes the gate. */
    publish: (night: Night, settings: FeedSettings): Promise<EndOfNight> =>
      nightsIn(open, leadsOf(settings)).night(night),
    release: (execution: string, settings: FeedSettings) => nightsIn(open, leadsOf(settings)).release(execution),
    table: (execution: string, deps: StepDeps) =>
      writeTable(runState({ execution, manifestKey: manifestKeyOf(execution) }), deps),
    tell: (execution: string, deps: StepDeps) =>
      writeChanges(runState({ execution, manifestKey: manifestKeyOf(execution), outcome: 'CHANGES_DUE' }), deps),
    /** Releases a feed as the command `changes --release` does. */
    letThrough: async (reason: string) => {
      const standing = await readHead(bucket, 'leads');
      return writeHead(bucket, 'leads', standing, { ...standing.head, release: reason });
    },
    /** Deletes an object as the lifecycle rules do. */
    expire: (Key: string) => client.send(new DeleteObjectCommand({ Bucket: 'exports', Key })),
    /** Whether the last feed ended at the newest published table. */
    isCurrent: async () => {
      const [run, { end }] = [await newest(), await head()];
      if (!run || end?.run !== run.execution) return false;
      return store.object(tableKey('leads', run.date, 1))?.headers['x-amz-meta-run'] === run.execution;
    },
    /** Copies all objects that readers can see into a folder. */
    copyTo: (dir: string) => {
      rmSync(dir, { recursive: true, force: true });
      for (const key of store.keys().filter((each) => /^(changes|tables)\//.test(each))) {
        mkdirSync(dirname(join(dir, key)), { recursive: true });
        writeFileSync(join(dir, key), store.object(key)?.body ?? '');
      }
    },
  };
}

export type FeedNights = Awaited<ReturnType<typeof feedNights>>;
