import type { Entity } from '../../core/config/entities.ts';
import type { Facts } from '../night/facts.ts';
import { gatherFacts } from '../night/gather.ts';
import type { MarkedNight } from '../night/marked.ts';
import { alarmsOf } from '../night/raised-alarms.ts';
import { isWhole } from '../night/whole.ts';
import { nightlyPlanOf } from '../schedule/nightly-plan.ts';
import { type RuleLists, rulesOf } from '../schedule/rule-state.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { lastNightOf, markedOf, reportDataOf } from './report-data.ts';
import { type Headline, headlineOf } from './words.ts';

/** What is known of a deployment, in one row. */
export interface DeploymentRow extends RuleLists {
  /** How the last night of the deployment went, in a few words. */
  headline: string;
  tone: Headline['tone'];
  /** The newest date of that night. */
  lastNight: string;
  /** What the object of that night says of it; `null` where there is none. */
  night: MarkedNight | null;
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
  const facts = await gatherFacts(target, { deployment, plan, nights: NIGHTS, now, warn });
  const data = reportDataOf(facts);
  // A run may be under way, which is no reproach: the same as `status` says.
  if (
    isWhole(
      facts,
      data.rows.map(({ last }) => last),
    ) === null
  )
    throw new CommandError(warnings.join(' '), ENVIRONMENT);
  const { text: headline, tone } = headlineOf(data);
  const on = data.rows.flatMap(({ entity, rule }) => (rule === 'paused' || rule === 'off' ? [] : entity));
  return {
    headline,
    tone,
    lastNight: data.lastNight,
    night: markedOf(data, data.lastNight),
    ...lastNightOf(data),
    ...rulesOf(data.rows),
    oldest: oldestOf(on, facts),
    neverPublished: on.filter((entity) => !facts.newest[entity]),
    alarms: alarmsOf(alarms, target),
    version: target.SoftwareVersion,
    warnings,
  };
}

function oldestOf(on: Entity[], { newest, now }: Facts): DeploymentRow['oldest'] {
  const started = on.flatMap((entity) => {
    const { startedAt } = newest[entity] ?? {};
    return startedAt === undefined ? [] : [{ entity, startedAt }];
  });
  const [oldest] = started.sort((one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt));
  if (!oldest) return null;
  return { ...oldest, hours: Math.floor((now.getTime() - Date.parse(oldest.startedAt)) / 3_600_000) };
}
