import { ConfigurationError, readConfiguration } from '../../core/config/configuration.ts';
import { type Deployed, type Difference, deployedOf, differencesFrom, digestOf } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { EntityPlan } from '../../core/config/entity-settings.ts';
import type { TargetOptions } from '../support/target.ts';
import { type Finding, holds, warning } from './check.ts';

export interface ConfigurationOptions extends TargetOptions {
  configuration?: string | undefined;
}

export interface Configured {
  /** The configuration against which a nightly run is checked. */
  deployment: Deployment;
  /** `undefined` if there is no valid configuration file. */
  file: Deployment | undefined;
  /** Entities whose plan would change with a deployment of the file. */
  changed: Entity[];
  /** Entities with deployed filters or extra keys that are not in the file. */
  unknown: Entity[];
  /** The changes that a deployment of the file would make. */
  finding: Finding;
}

/**
 * @param deployed configuration of the nightly runs; `undefined` before the first deployment, when the file counts
 * @throws ConfigurationError if the file is needed and cannot be used
 */
export function configured(options: ConfigurationOptions, deployed: Deployed | undefined): Configured {
  if (deployed?.local && options.deployment === 'local' && options.configuration === undefined) {
    const text = 'The local deployment has addresses and options of its own, which npm start adds to config/local.json';
    return judgedBy(deployed, undefined, [], holds(`${text}. The deployed configuration is checked here.`));
  }
  const found = fileOrError(options);
  if (found instanceof ConfigurationError) {
    if (!deployed) throw found;
    const text = `${found.message.replaceAll('\n', '; ')}. The deployed configuration is checked here.`;
    const advice = 'To compare it with a file: --configuration FILE. Correct the file before the next deploy.';
    return judgedBy(deployed, undefined, [], warning(text, advice));
  }
  const { file, deployment } = found;
  if (!deployed) return judgedBy(deployedOf(deployment), deployment, [], holds(`${file} is valid.`));
  const differences = differencesFrom(deployed, deployment);
  if (differences.length === 0) return judgedBy(deployed, deployment, [], holds(`${file} is what is deployed.`));
  const changes = differences.map(differenceText).join(', ');
  const text = `Deploying ${file} would change ${changes}. The deployed configuration is checked here.`;
  const advice = 'If the file is right, deploy; else correct it, or name another with --configuration FILE.';
  return judgedBy(deployed, deployment, differences, warning(text, advice));
}

function fileOrError({ deployment, configuration, endpointUrl = process.env.AWS_ENDPOINT_URL }: ConfigurationOptions) {
  try {
    return readConfiguration(deployment, configuration, endpointUrl);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
}

/** `crm.baseUrl (deployed: "https://a.example"; file: "https://b.example")` */
function differenceText({ path, values }: Difference): string {
  const named = values && [`deployed: ${valueText(values.deployed)}`, `file: ${valueText(values.file)}`].join('; ');
  return `${path} (${named ?? 'not shown'})`;
}

const LONGEST = 200;

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  if (text.length <= LONGEST) return text;
  return Array.isArray(value) ? `${value.length} entries` : `${text.slice(0, LONGEST)}…`;
}

/** The template has only digests of filters and extra keys, so their values come from the file if the digests match. */
function judgedBy(
  deployed: Deployed,
  file: Deployment | undefined,
  differences: Difference[],
  finding: Finding,
): Configured {
  const differs = (entity: Entity) => !file || differences.some(({ path }) => path.startsWith(`entities.${entity}.`));
  const isOther = (entity: Entity, part: 'filters' | 'extra') =>
    !file || differences.some(({ path }) => path === `entities.${entity}.${part}`);
  const plans = ENTITIES.map((entity): [Entity, EntityPlan] => {
    const { filters: _, ...plan } = deployed.entities[entity];
    const own = file?.entities[entity];
    const filters = isOther(entity, 'filters') ? undefined : own?.filters;
    return [entity, { ...plan, ...(filters && { filters }), extra: (!isOther(entity, 'extra') && own?.extra) || {} }];
  });
  return {
    deployment: { ...deployed, entities: Object.fromEntries(plans) as Record<Entity, EntityPlan> },
    file,
    changed: ENTITIES.filter((entity) => file && differs(entity)),
    unknown: ENTITIES.filter((entity) => {
      const { filters, extra } = deployed.entities[entity];
      return (filters && isOther(entity, 'filters')) || (extra.digest !== NO_KEYS && isOther(entity, 'extra'));
    }),
    finding,
  };
}

const NO_KEYS = digestOf({});
