import { existsSync } from 'node:fs';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import { type Deployment, deploymentSchema } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { timingOf } from '../../core/config/timing.ts';
import { START_UTC, type Timing } from '../../core/schedule/timing.ts';
import type { ConfigurationOptions } from '../support/configuration-file.ts';

/** When the nightly runs are due, by the configuration file. */
export interface NightlyPlan {
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** When the rules start each. */
  timing: Record<Entity, Timing>;
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
    const { timeZone } = DEFAULTS;
    const dates = zone === undefined ? `dates are taken to be in ${timeZone}, nights` : 'nights are taken';
    warn(`There is no ${file}: ${dates} to begin at ${START_UTC} UTC. To say otherwise: --configuration FILE.`);
    return nightlyPlanOf({ ...DEFAULTS, timeZone: zone ?? timeZone });
  }
  const read = readConfiguration(deployment, configuration, endpointUrl ?? process.env.AWS_ENDPOINT_URL);
  return nightlyPlanOf({ ...read.deployment, timeZone: zone ?? read.deployment.timeZone });
}

export function planOfDefaults(): NightlyPlan {
  return nightlyPlanOf(DEFAULTS);
}

/** No defaults are known of these. */
export const CRM_OF_DEFAULTS = { baseUrl: 'https://crm.invalid/api/v1', authUrl: 'https://crm.invalid/auth' };
const DEFAULTS = deploymentSchema.parse({ crm: CRM_OF_DEFAULTS });

/** The plan of a configuration. */
export function nightlyPlanOf(deployment: Deployment): NightlyPlan {
  const each = <T>(of: (entity: Entity) => T) =>
    Object.fromEntries(ENTITIES.map((entity) => [entity, of(entity)])) as Record<Entity, T>;
  return {
    timeZone: deployment.timeZone,
    timing: each((entity) => timingOf(deployment, entity)),
    enabled: each((entity) => deployment.entities[entity].enabled),
  };
}
