import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { createManifests, ifReadable, type PublishedRun } from '../data/manifests.ts';
import { unpublishedRuns } from '../runs/list/list-runs.ts';
import { notStarted } from '../schedule/rules.ts';
import type { Target } from '../support/target.ts';
import type { Attempt, Facts } from './facts.ts';
import { type MarkedNight, markedNight } from './marked.ts';
import { lookedBackTo } from './starts.ts';

type Sources = Pick<Target, 'sfn' | 's3' | 'events' | 'BucketName' | 'StateMachineArn' | 'stack' | 'stackCreatedAt'>;

interface Wanted extends Pick<Facts, 'deployment' | 'plan' | 'nights' | 'now'> {
  /** Called for what could not be read. */
  warn: (sentence: string) => void;
}

/** Looks at bucket, machine and rules. What cannot be read, except for the bucket, is reported and left out. */
export async function gatherFacts(target: Sources, { warn, ...wanted }: Wanted): Promise<Facts> {
  const since = lookedBackTo(wanted.plan, wanted.now, wanted.nights);
  const from = since.toISOString().slice(0, 10);
  const [published, newest, marked, rules] = await Promise.all([
    eachOf(ENTITIES, (entity) => countingRuns(target, entity, from, warn)),
    newestRuns(target, warn),
    markedNights(target, from, warn),
    notStarted(target, wanted.plan).catch((error: unknown) => {
      warn(
        `Whether rules are paused is taken from the configuration: EventBridge could not be read (${nameOf(error)}).`,
      );
      return { paused: ENTITIES.filter((entity) => !wanted.plan.enabled[entity]), withoutRule: [], changed: [] };
    }),
  ]);
  const counting = published.flat();
  const others = await attemptsOf(target, counting, since, wanted).catch((error: unknown) => {
    warn(`Runs that failed are not shown: Step Functions could not be read (${nameOf(error)}).`);
    return { attempts: [], attemptsKnown: false, withoutTable: [] };
  });
  return { ...wanted, deployedAt: target.stackCreatedAt, published: counting, newest, marked, ...others, ...rules };
}

/** What readers get now. */
async function newestRuns(target: Sources, warn: Wanted['warn']): Promise<Facts['newest']> {
  const manifests = createManifests(target);
  const found = await eachOf(ENTITIES, async (entity) => {
    const pointer = await ifReadable(manifests.pointer(entity, 'latest'), warn);
    return pointer ? [[entity, pointer] as const] : [];
  });
  return Object.fromEntries(found.flat());
}

/** What the nights say themselves, whether there are files of them or not. */
async function markedNights(target: Sources, from: string, warn: Wanted['warn']): Promise<MarkedNight[]> {
  const manifests = createManifests(target);
  const dates = (await manifests.nights()).filter((date) => date >= from);
  const found = await eachOf(dates, (date) => ifReadable(manifests.night(date), warn));
  return found.flatMap((night) => (night ? markedNight(night) : []));
}

/** The runs that the pointers to the dates name: superseded ones do not count. */
async function countingRuns(
  target: Sources,
  entity: Entity,
  from: string,
  warn: Wanted['warn'],
): Promise<PublishedRun[]> {
  const manifests = createManifests(target);
  const dates = (await manifests.dates(entity)).filter((date) => date >= from);
  const runs = await eachOf(dates, async (date): Promise<PublishedRun[]> => {
    const pointer = await ifReadable(manifests.pointer(entity, date), warn);
    if (!pointer) return [];
    const { manifestKey } = pointer;
    const unreadable: string[] = [];
    const manifest = await ifReadable(manifests.manifest(manifestKey), (sentence) => void unreadable.push(sentence));
    if (manifest) return [{ manifest, manifestKey }];
    warn(unreadable[0] ?? `The pointer to the ${entity} of ${date} names a manifest that is gone.`);
    return [];
  });
  return runs.flat();
}

/** Runs without a file that counts. One that a later run superseded is none, nor one of input without a known entity. */
async function attemptsOf(
  target: Sources,
  counting: PublishedRun[],
  since: Date,
  { now, plan }: Pick<Wanted, 'now' | 'plan'>,
): Promise<Pick<Facts, 'attempts' | 'attemptsKnown' | 'withoutTable'>> {
  const { runs, withoutTable } = await unpublishedRuns(target, counting, { since, now, timeZone: plan.timeZone });
  const replaced = new Set(counting.map(({ manifest }) => `${manifest.entity} ${manifest.date}`));
  const attempts = runs.flatMap((run): Attempt[] => {
    const { entity, date, outcome } = run;
    if (entity === null || date === null) return [];
    return outcome === 'gone' && replaced.has(`${entity} ${date}`) ? [] : [{ ...run, entity, date }];
  });
  return { attempts, attemptsKnown: true, withoutTable };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown trouble';
}
