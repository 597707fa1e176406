import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { eachOf } from '../../../core/each-of.ts';
import { awsErrorText } from '../../support/aws-error.ts';
import type { Target } from '../../support/target.ts';
import { lastSeen } from '../executions.ts';
import { type ExportMachine, executionsOf } from '../find-run.ts';
import { completeRun, createPublished, type Published } from '../run/published.ts';
import { type FoundRun, type Joined, type Run, runOfManifest } from '../run/run.ts';
import { type Waiting, waitingOf } from '../run/waiting.ts';

interface Wanted {
  /** The entities whose runs are wanted; an empty list stands for all. */
  entities: Entity[];
  since: Date;
  /** Only runs that ended in anything but success, or are under way; with both, either. */
  failed: boolean;
  running?: boolean;
  /** How many of the newest runs are listed. */
  limit?: number | undefined;
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** Called for what cannot be read. */
  warn: (sentence: string) => void;
}

type RunSources = ExportMachine & Pick<Target, 's3' | 'BucketName'>;

/** Runs from Step Functions joined with their manifests, newest first. */
export async function listRuns(target: RunSources, wanted: Wanted): Promise<Run[]> {
  const entities = wanted.entities.length > 0 ? wanted.entities : [...ENTITIES];
  const published = createPublished(target, wanted.warn);
  const some = wanted.failed || wanted.running;
  const manifests = some ? new Map<string, Joined>() : await published.since(entities, wanted.since);
  const executions = await foundRuns(target, entities, wanted, manifests);
  const rows = await eachOf(executions.slice(0, wanted.limit), (run) => rowOf(target, run, published, wanted));
  if (some) return rows;
  const known = new Set(executions.map(({ name }) => name));
  const forgotten = [...manifests.values()].filter(({ manifest }) => !known.has(manifest.execution));
  // A manifest that was written within the time may be of a run that began before it.
  const within = forgotten.filter(({ manifest }) => new Date(manifest.startedAt) >= wanted.since);
  const all = [...rows, ...within.map(runOfManifest)].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  return all.slice(0, wanted.limit);
}

async function foundRuns(
  target: ExportMachine,
  entities: Entity[],
  { since, failed, running, limit }: Pick<Wanted, 'since' | 'failed' | 'running' | 'limit'>,
  published: Map<string, Joined>,
): Promise<FoundRun[]> {
  const runs: FoundRun[] = [];
  const [entity] = entities.length === 1 ? entities : [];
  const known = new Map([...published].map(([name, { manifest }]) => [name, manifest.entity]));
  for await (const run of executionsOf(target, { since, failed, running, entity, known })) {
    // A run whose input has no entity is left out only if entities were named.
    if (run.entity ? entities.includes(run.entity) : entities.length === ENTITIES.length) runs.push(run);
    // All others are joined with manifests: a run that is not found would count as one that Step Functions has deleted.
    if ((failed || running) && runs.length === limit) return runs;
  }
  return runs;
}

/** Step Functions allows few such calls a second: what the manifest knows is not read there. */
async function rowOf(
  target: ExportMachine,
  found: FoundRun,
  published: Published,
  { timeZone, warn }: Wanted,
): Promise<Run> {
  const isKnown = found.status === 'SUCCEEDED' && found.what === 'export';
  const run = isKnown ? found : await described(target, found);
  const waiting = found.status === 'RUNNING' ? await waitOf(target, found, warn) : undefined;
  return (await completeRun(published, run, { timeZone: run.execution && timeZone, waiting })).run;
}

async function described({ sfn }: ExportMachine, found: FoundRun): Promise<FoundRun> {
  const { executionArn } = found;
  return { ...found, execution: found.execution ?? (await sfn.send(new DescribeExecutionCommand({ executionArn }))) };
}

async function waitOf({ sfn }: ExportMachine, run: FoundRun, warn: Wanted['warn']): Promise<Waiting | undefined> {
  try {
    return waitingOf(await lastSeen(sfn, run.executionArn));
  } catch (error) {
    const trouble = awsErrorText(error);
    if (!trouble) throw error;
    warn(`Why ${run.name} waits is not shown: ${trouble}`);
    return undefined;
  }
}
