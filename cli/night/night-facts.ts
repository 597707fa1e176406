import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import type { Pointer } from '../../core/export/pointer.ts';
import type { Night } from '../../core/night/marker.ts';
import {
  createManifests,
  ifReadable,
  type Manifests,
  manifestsAt,
  type PublishedRun,
} from '../data/stored-manifests.ts';
import { type Rules, rulesOf } from '../deployment-state.ts';
import { listRuns } from '../runs/list-runs.ts';
import type { Run } from '../runs/run.ts';
import type { Target } from '../support/target.ts';
import { firstStartNeeded } from './night-starts.ts';

/** A run that failed or is in progress. */
export interface Attempt
  extends Pick<
    Run,
    'run' | 'what' | 'byVerify' | 'kind' | 'unjudged' | 'outcome' | 'startedAt' | 'status' | 'error' | 'cause'
  > {
  entity: Entity;
  date: string;
}

/** All data of a deployment that is needed to judge its nights. */
export interface Facts {
  deployment: string;
  configured: Deployment;
  now: Date;
  /** The number of nights to judge; more if the newest start of an entity was earlier. */
  nights: number;
  /** When the stack was created. */
  deployedAt: Date | undefined;
  recorded: Night[];
  /** The runs that the records of nights and the pointers name. */
  published: PublishedRun[];
  newest: Partial<Record<Entity, Pick<Pointer, 'date' | 'startedAt' | 'execution'>>>;
  attempts: Attempt[];
  /** When the newest run that ended well was started, even if it published nothing, by entity with an attempt. */
  endedWell: Partial<Record<Entity, string>>;
  rules: Rules;
}

type Sources = Pick<
  Target,
  'sfn' | 's3' | 'events' | 'BucketName' | 'StateMachineArn' | 'TimeZone' | 'stack' | 'stackCreatedAt'
>;

interface Wanted extends Pick<Facts, 'deployment' | 'configured' | 'nights' | 'now'> {
  /** Called with a sentence for each object that could not be read. */
  warn: (sentence: string) => void;
}

/** Reads bucket, machine and rules. Reports an unreadable object and leaves it out. */
export async function gatherFacts(target: Sources, { warn, ...wanted }: Wanted): Promise<Facts> {
  const { configured, now, nights } = wanted;
  const since = firstStartNeeded(configured, now, nights);
  const manifests = createManifests(target);
  // Read before the records, so that a run that ends in between is in at least one of them.
  const attempts = await attemptsOf(target, since, warn);
  const [recorded, newest, endedWell, rules] = await Promise.all([
    recordedNights(manifests, since, warn),
    newestRuns(manifests, warn),
    runsEndedWell(manifests, attempts, warn),
    rulesOf(target, configured),
  ]);
  const published = await publishedRuns(manifests, { recorded, newest, since }, warn);
  const deployedAt = target.stackCreatedAt;
  clockWarning({ newest, attempts, now }).forEach(warn);
  return { ...wanted, deployedAt, recorded, newest, rules, published, attempts, endedWell };
}

/** Allowance for the difference between two clocks, which is usually seconds. */
const CLOCK_MS = 5 * 60_000;

function clockWarning({ newest, attempts, now }: Pick<Facts, 'newest' | 'attempts' | 'now'>): string[] {
  const starts = [...Object.values(newest), ...attempts].map(({ startedAt }) => startedAt);
  const last = starts.sort().at(-1) ?? '';
  if (!(Date.parse(last) > now.getTime() + CLOCK_MS)) return [];
  return [`The clock of this machine is behind: here it is ${now.toISOString()}, and a run was started at ${last}.`];
}

/** The exports that failed or are in progress. */
async function attemptsOf(target: Sources, since: Date, warn: Wanted['warn']): Promise<Attempt[]> {
  const runs = await listRuns(target, { entities: [], since, failed: true, running: true, warn });
  return runs.flatMap((run) => {
    const { entity, date, what, outcome } = run;
    const counts = entity !== null && date !== null && what === 'export' && outcome !== 'onPurpose';
    // A run that was stopped has no error: it has the word that `list` prints.
    const error = run.error ?? (outcome === 'running' ? null : run.status);
    return counts ? [{ ...run, entity, date, error }] : [];
  });
}

async function newestRuns(manifests: Manifests, warn: Wanted['warn']) {
  const found = await eachOf(ENTITIES, async (entity) => {
    const pointer = await ifReadable(manifests.pointer(entity, 'latest'), warn);
    return pointer ? [[entity, pointer] as const] : [];
  });
  return Object.fromEntries(found.flat()) as Partial<Record<Entity, Pointer>>;
}

/** A run that ends well writes a manifest, even if no pointer names its file. */
async function runsEndedWell(manifests: Manifests, attempts: Attempt[], warn: Wanted['warn']) {
  const found = await eachOf([...new Set(attempts.map(({ entity }) => entity))], async (entity) => {
    const names = await manifests.runNames(entity);
    const newest = names.find((name) => !attempts.some(({ run }) => run === name));
    const stored = newest && (await ifReadable(manifests.manifestOfRun(entity, newest), warn));
    return stored ? [[entity, stored.manifest.startedAt] as const] : [];
  });
  return Object.fromEntries(found.flat()) as Facts['endedWell'];
}

async function recordedNights(manifests: Manifests, since: Date, warn: Wanted['warn']): Promise<Night[]> {
  const dates = (await manifests.nights()).filter((date) => date >= dayOf(since));
  const found = await eachOf(dates, (date) => ifReadable(manifests.night(date), warn));
  return found.flatMap((night) => night ?? []);
}

/** Published runs. Entities with several starts a day or `rate(…)` have no night records: their pointers count. */
async function publishedRuns(
  manifests: Manifests,
  { recorded, newest, since }: { recorded: Night[]; newest: Partial<Record<Entity, Pointer>>; since: Date },
  warn: Wanted['warn'],
): Promise<PublishedRun[]> {
  const apart = ENTITIES.filter((entity) => recorded.every(({ entities }) => !entities[entity]));
  const pointers = await eachOf(apart, async (entity) => {
    const dates = (await manifests.dates(entity)).filter((date) => date >= dayOf(since));
    return eachOf(dates, (date) => ifReadable(manifests.pointer(entity, date), warn));
  });
  const files = recorded.flatMap(({ entities }) => Object.values(entities).flatMap(({ file }) => file ?? []));
  const latest = Object.values(newest).filter(({ date }) => date >= dayOf(since));
  // A file of another plan than the configured one does not count, as in the records of nights.
  const full = pointers.flat().filter((pointer) => pointer?.kind !== 'partial');
  const keys = [...latest, ...full, ...files].flatMap((one) => one?.manifestKey ?? []);
  return manifestsAt(manifests, keys, warn);
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
