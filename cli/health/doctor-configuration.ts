import { ConfigurationError, readConfiguration } from '../../core/config/configuration.ts';
import { type Deployed, type Difference, deployedOf, differencesFrom, digestOf } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { EntityPlan } from '../../core/config/entity-settings.ts';
import type { TargetOptions } from '../support/target.ts';
import { holds, warning } from './check.ts';

export interface ConfigurationOptions extends TargetOptions {
  configuration?: string | undefined;
}

/**
 * The configuration against which a nightly run is checked, and the changes that a deployment of the file would make.
 * @param deployed configuration of the nightly runs; `undefined` before the first deployment: the file is used then
 * @throws ConfigurationError if the file is needed and cannot be used
 */
export function configured(options: ConfigurationOptions, deployed: Deployed | undefined) {
  const checkedHere = 'The command checks the deployed configuration.';
  if (deployed?.local && options.deployment === 'local' && options.configuration === undefined) {
    const text = 'The local deployment has addresses and options of its own, which npm start adds to config/local.json';
    return { deployment: deployed, finding: holds(`${text}. ${checkedHere}`) };
  }
  const found = fileOrError(options);
  if (found instanceof ConfigurationError) {
    if (!deployed) throw found;
    const text = `${found.message.replaceAll('\n', '; ')}. ${checkedHere}`;
    const advice =
      'To compare it with another file: --configuration FILE. Correct this file before the next deployment.';
    return { deployment: deployed, finding: warning(text, advice) };
  }
  const { file, deployment } = found;
  if (!deployed) return { deployment: deployedOf(deployment), finding: holds(`${file} is valid.`) };
  const differences = differencesFrom(deployed, deployment).map(differenceText);
  if (differences.length === 0) {
    // The template has only digests of filters, which may not name a column that is left out.
    const { entities } = deployment;
    return { deployment: { ...deployed, entities }, finding: holds(`${file} equals the deployed configuration.`) };
  }
  const text = `Deploying ${file} would change ${differences.join(', ')}. ${checkedHere}`;
  const advice = 'If the file is right, deploy; else correct it, or name another with --configuration FILE.';
  return { deployment: deployed, finding: warning(text, advice) };
}

export function fileOrError({
  deployment,
  configuration,
  endpointUrl = process.env.AWS_ENDPOINT_URL,
}: ConfigurationOptions) {
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

/**
 * The deployed configuration with the extra keys of requests. The template has only their digests: they come from the
 * configuration file, where that has the deployed ones.
 */
export function withExtraKeys(options: ConfigurationOptions, deployed: Deployed) {
  const found = fileOrError(options);
  const ofFile = found instanceof ConfigurationError ? undefined : found.deployment.entities;
  const unknown: Entity[] = [];
  const plans = ENTITIES.map((entity): [Entity, EntityPlan] => {
    const plan = deployed.entities[entity];
    const extra = [ofFile?.[entity].extra ?? {}, {}].find((one) => digestOf(one) === plan.extra.digest);
    if (!extra) unknown.push(entity);
    return [entity, { ...plan, extra: extra ?? {} }];
  });
  const entities = Object.fromEntries(plans) as Record<Entity, EntityPlan>;
  const deployment: Deployment = { ...deployed, entities };
  return { deployment, unknown };
}
