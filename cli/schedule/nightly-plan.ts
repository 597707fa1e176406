import { existsSync } from 'node:fs';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import { type Deployment, deploymentSchema } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import type { ConfigurationOptions } from '../support/configuration-file.ts';

/** When the nightly runs are due, by the configuration file. */
export interface NightlyPlan {
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** Minutes after midnight UTC; `null` where the entity does not run daily. */
  startMinute: Record<Entity, number | null>;
  /** Whether the rule is switched on by the configuration. */
  enabled: Record<Entity, boolean>;
}

/**
 * The plan from `config/NAME.json`, or of the defaults, with a warning, where there is no such file.
 * @param zone of what is deployed, which counts more than that of the file
 * @throws ConfigurationError where there is a file, and it cannot be used
 */
export function nightlyPlan(
  { deployment, configuration, endpointUrl }: ConfigurationOptions,
  warn: (sentence: string) => void,
  zone?: string,
): NightlyPlan {
  const file = configuration ?? configurationFile(deployment);
  if (configuration === undefined && !existsSync(file)) {
    const { timeZone, nightly } = DEFAULTS;
    const dates = zone === undefined ? `dates are taken to be in ${timeZone}, nights` : 'nights are taken';
    warn(`There is no ${file}: ${dates} to begin at ${nightly.startUtc} UTC. To say otherwise: --configuration FILE.`);
    return { ...planOfDefaults(), timeZone: zone ?? timeZone };
  }
  const read = readConfiguration(deployment, configuration, endpointUrl ?? process.env.AWS_ENDPOINT_URL);
  const plan = planOf(read.deployment);
  return { ...plan, timeZone: zone ?? plan.timeZone };
}

export function planOfDefaults(): NightlyPlan {
  return planOf(DEFAULTS);
}

const DEFAULTS = deploymentSchema.parse({
  crm: { baseUrl: 'https://crm.invalid/api/v1', authUrl: 'https://crm.invalid/auth' },
});

function planOf(deployment: Deployment): NightlyPlan {
  const each = <T>(of: (entity: Entity, index: number) => T) =>
    Object.fromEntries(ENTITIES.map((entity, index) => [entity, of(entity, index)])) as Record<Entity, T>;
  return {
    timeZone: deployment.timeZone,
    startMinute: each((entity, index) => startMinute(deployment, entity, index)),
    enabled: each((entity) => entityPlan(deployment, entity).enabled),
  };
}

/** As `lib/nightly-schedules.ts` spreads the starts. */
function startMinute(deployment: Deployment, entity: Entity, index: number): number | null {
  const { schedule } = entityPlan(deployment, entity);
  if (schedule !== undefined) return dailyMinute(schedule);
  const [hour = 0, minute = 0] = deployment.nightly.startUtc.split(':').map(Number);
  return (hour * 60 + minute + index * deployment.nightly.spreadMinutes) % (24 * 60);
}

/** The minute of an expression for every day at one time. */
function dailyMinute(schedule: string): number | null {
  const [, minute, hour] = /^cron\((\d{1,2}) (\d{1,2}) (?:\*|\?) \* (?:\*|\?) \*\)$/.exec(schedule) ?? [];
  return minute === undefined ? null : Number(hour) * 60 + Number(minute);
}
