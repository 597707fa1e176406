import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Pointer } from '../../core/export/pointer.ts';
import type { Night } from '../../core/night/night-record.ts';
import { createManifests, ifReadable, type Manifests, manifestsAt } from '../data/stored-manifests.ts';
import { grantOf, type Rules, rulesOf } from '../deployment-state.ts';
import { listRuns } from '../runs/list-runs.ts';
import type { Run } from '../runs/run.ts';
import { orUnknown } from '../support/aws-error.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import type { Target } from '../support/target.ts';
import { firstStartNeeded, lastOf } from './night-starts.ts';

/** A run that failed or is in progress. */
export interface Attempt extends Run {
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
  deployedAt: Date | undefined;
  recorded: Night[];
  /** The manifests that the records of nights and the pointers name. */
  published: Manifest[];
  newest: Partial<Record<Entity, Pick<Pointer, 'date' | 'startedAt' | 'execution'>>>;
  /** The runs that failed or are in progress, oldest first. */
  attempts: Attempt[];
  /** For each entity with an attempt: the start of its newest successful run, even if that run published no file. */
  endedWell: Partial<Record<Entity, string>>;
  rules: Rules;
  /** The grant; `null` if it could not be read. */
  grant: Awaited<ReturnType<typeof grantOf>> | null;
}

interface Wanted extends Pick<Facts, 'deployment' | 'nights' | 'now'> {
  /** Called with a sentence for each object that could not be read. */
  warn: (sentence: string) => void;
}

/** Reads template, bucket, machine, rules and grant. Reports an unreadable object and leaves it out. */
export async function gatherFacts(target: Target, { warn, ...wanted }: Wanted): Promise<Facts> {
  const { now, nights } = wanted;
  const configured = await deployedConfiguration(target, warn);
  const since = firstStartNeeded(configured, now, nights);
  const manifests = createManifests(target);
  // Read before the records, so that a run that ends in between is in at least one of them.
  const attempts = await attemptsOf(target, since, warn);
  const [recorded, newest, endedWell, rules, grant] = await Promise.all([
    recordedNights(manifests, since, warn),
    byEntity(ENTITIES, (entity) => ifReadable(manifests.pointer(entity, 'latest'), warn)),
    runsEndedWell(manifests, attempts, warn),
    rulesOf(target, configured),
    orUnknown(grantOf(target), warn, 'Whether the grant can be used is unknown'),
  ]);
  const published = await publishedRuns(manifests, { recorded, newest, since }, warn);
  const deployedAt = target.stackCreatedAt;
  warnOfClock({ newest, attempts, now }, warn);
  return { ...wanted, configured, deployedAt, recorded, newest, rules, grant, published, attempts, endedWell };
}

/** The largest tolerated difference between two clocks. Clocks usually differ by seconds. */
const CLOCK_MS = 5 * 60_000;

function warnOfClock({ newest, attempts, now }: Pick<Facts, 'newest' | 'attempts' | 'now'>, warn: Wanted['warn']) {
  const last = lastOf([...Object.values(newest), ...attempts].map(({ startedAt }) => startedAt)) ?? '';
  if (Date.parse(last) > now.getTime() + CLOCK_MS)
    warn(`The clock of this machine is behind: here it is ${now.toISOString()}, and a run was started at ${last}.`);
}

async function attemptsOf(target: Target, since: Date, warn: Wanted['warn']): Promise<Attempt[]> {
  const runs = await listRuns(target, { entities: [], since, failed: true, running: true, warn });
  const attempts = runs.flatMap((run) => {
    const { entity, date, what, outcome } = run;
    const counts = entity !== null && date !== null && what === 'export' && outcome !== 'onPurpose';
    // A stopped run has no error, so it gets the word that `list` prints.
    const error = run.error ?? (outcome === 'running' ? null : run.status);
    return counts ? [{ ...run, entity, date, error }] : [];
  });
  return attempts.sort((one, other) => (one.startedAt < other.startedAt ? -1 : 1));
}

async function byEntity<T>(entities: Iterable<Entity>, read: (entity: Entity) => Promise<T | undefined>) {
  const found = await eachOf([...entities], async (entity) => [entity, await read(entity)] as const);
  return Object.fromEntries(found.filter(([, value]) => value)) as Partial<Record<Entity, T>>;
}

/** A run that ends well writes a manifest, even if no pointer names its file. */
function runsEndedWell(manifests: Manifests, attempts: Attempt[], warn: Wanted['warn']) {
  return byEntity(new Set(attempts.map(({ entity }) => entity)), async (entity) => {
    const names = await manifests.runNames(entity);
    const newest = names.find((name) => !attempts.some(({ run }) => run === name));
    return newest && (await ifReadable(manifests.manifestOfRun(entity, newest), warn))?.startedAt;
  });
}

async function recordedNights(manifests: Manifests, since: Date, warn: Wanted['warn']): Promise<Night[]> {
  const dates = (await manifests.nights()).filter((date) => date >= dayOf(since));
  const found = await eachOf(dates, (date) => ifReadable(manifests.night(date), warn));
  return found.flatMap((night) => night ?? []);
}

/**
 * The published runs. Night records lack entities with several starts a day or `rate(…)`: their runs come from
 * pointers.
 */
async function publishedRuns(
  manifests: Manifests,
  { recorded, newest, since }: { recorded: Night[]; newest: Partial<Record<Entity, Pointer>>; since: Date },
  warn: Wanted['warn'],
): Promise<Manifest[]> {
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
