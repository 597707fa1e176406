import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import { nightlyPlanOf } from '../schedule/nightly-plan.ts';
import type { NotStarted } from '../schedule/rules.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import type { Target } from '../support/target.ts';
import { gatherFacts } from './gather.ts';
import { type Facts, lastNightOf, reportDataOf } from './report-data.ts';
import { type Headline, headlineOf } from './words.ts';

/** What is known of a deployment, in one row. */
export interface DeploymentRow extends NotStarted {
  /** How the last night of the deployment went, in a few words. */
  headline: string;
  tone: Headline['tone'];
  /** The newest date of that night. */
  lastNight: string;
  published: Entity[];
  missing: Entity[];
  stillToCome: Entity[];
  /** Which of the entities that are not paused has the oldest newest published export, and when that run started. */
  oldest: { entity: Entity; startedAt: string; hours: number } | null;
  /** Entities that are not paused, and of which no file was ever published. */
  neverPublished: Entity[];
  /** Alarms that are raised now; `null` where they are not known. */
  alarms: string[] | null;
  /** The release that is deployed, or, of one that does not say, that which made the newest export. */
  version: string | null;
  /** What could not be read, and that the stack is between two states. */
  warnings: string[];
}

interface Around {
  deployment: string;
  alarms: Map<string, string[]> | null;
  now: Date;
}

/** The night that began last, and two before it: a run that takes two days is under way. */
const NIGHTS = 3;

export async function deploymentRow(target: Target, { deployment, alarms, now }: Around): Promise<DeploymentRow> {
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const plan = nightlyPlanOf(await deployedConfiguration(target, warn));
  const [facts, newest] = await Promise.all([
    gatherFacts(target, { deployment, plan, nights: NIGHTS, now, warn }),
    newestStarts(target, warn),
  ]);
  const data = reportDataOf(facts);
  const on = ENTITIES.filter((entity) => !facts.paused.includes(entity));
  const { text: headline, tone } = isIdle(facts) && newest.size > 0 ? idle(on) : headlineOf(data);
  return {
    headline,
    tone,
    lastNight: data.lastNight,
    ...lastNightOf(data),
    paused: facts.paused,
    withoutRule: facts.withoutRule,
    oldest: oldestOf(on, newest, now),
    neverPublished: on.filter((entity) => !newest.has(entity)),
    alarms: alarms ? (alarms.get(target.AlarmTopicArn) ?? []).map(shortName(target)) : null,
    version: target.SoftwareVersion,
    warnings,
  };
}

/** When the run started whose file readers get now, by entity. */
async function newestStarts(target: Target, warn: (sentence: string) => void): Promise<Map<Entity, string>> {
  const manifests = createManifests(target);
  const found = await eachOf(ENTITIES, async (entity): Promise<[Entity, string][]> => {
    const pointer = await ifReadable(manifests.pointer(entity, 'latest'), warn);
    return pointer ? [[entity, pointer.startedAt]] : [];
  });
  return new Map(found.flat());
}

function isIdle({ published, attempts }: Facts): boolean {
  return published.length === 0 && attempts.length === 0;
}

/** Says that a deployment which has run before is idle: the page of few nights would take it for one that never ran. */
function idle(on: Entity[]): Pick<Headline, 'text' | 'tone'> {
  if (on.length === 0) return { text: 'All rules are paused', tone: 'open' };
  return { text: `No run in the last ${NIGHTS} nights`, tone: 'bad' };
}

function oldestOf(on: Entity[], newest: Map<Entity, string>, now: Date): DeploymentRow['oldest'] {
  const started = on.flatMap((entity) => {
    const startedAt = newest.get(entity);
    return startedAt === undefined ? [] : [{ entity, startedAt }];
  });
  const [oldest] = started.sort((one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt));
  if (!oldest) return null;
  return { ...oldest, hours: Math.floor((now.getTime() - Date.parse(oldest.startedAt)) / 3_600_000) };
}

function shortName({ stack }: Target): (alarm: string) => string {
  return (alarm) => (alarm.startsWith(`${stack}-`) ? alarm.slice(stack.length + 1) : alarm);
}
