import { ConfigurationError } from '../../core/config/configuration.ts';
import {
  type DeployedOutputs,
  type Difference,
  deployedCrm,
  differencesFrom,
  planKey,
} from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type ConfigurationOptions, configurationOrError, differencesText } from '../support/configuration-file.ts';
import { runbookUrlChecks } from './alarms.ts';
import { type Check, ok, warning } from './check.ts';

const ID = 'configuration';
const NOT_DEPLOYED = 'What is deployed is looked at here, by the outputs of the stack.';

/** The configuration that a nightly run is checked against. */
export interface Configured {
  crm: ReturnType<typeof deployedCrm>;
  /** `undefined` where there is none that can be used. */
  file: Deployment | undefined;
  /** Entities whose plan in the file is not the one deployed. */
  unknownPlans: Entity[];
  checks: Check[];
}

/**
 * Compares the configuration file with what is deployed, which alone counts for a nightly run.
 * @param outputs `undefined` for a stack of an earlier release: then the file counts
 * @throws ConfigurationError where it is needed and cannot be used
 */
export function configured(options: ConfigurationOptions, outputs: DeployedOutputs | undefined): Configured {
  const found = configurationOrError(options);
  if (found instanceof ConfigurationError) {
    if (!outputs) throw found;
    const text = `${found.message.replaceAll('\n', '; ')}. ${NOT_DEPLOYED}`;
    const advice = 'To compare it with a file: --configuration FILE. Correct the file before the next deploy.';
    return {
      crm: deployedCrm(outputs),
      file: undefined,
      unknownPlans: [...ENTITIES],
      checks: [warning(ID, text, advice)],
    };
  }
  const { file, deployment } = found;
  const rest = runbookUrlChecks(deployment);
  if (!outputs) {
    const checks = [ok(ID, `${file} is valid.`), ...rest];
    return { crm: deployment.crm, file: deployment, unknownPlans: [], checks };
  }
  const differences = differencesFrom(outputs, deployment);
  const unknownPlans = ENTITIES.filter((entity) => differences.some(({ key }) => key === planKey(entity)));
  const checks = [
    differences.length === 0 ? ok(ID, `${file} is what is deployed.`) : differs(file, differences),
    ...rest,
  ];
  return { crm: deployedCrm(outputs), file: deployment, unknownPlans, checks };
}

function differs(file: string, differences: Difference[]): Check {
  const text = `${file} differs from what is deployed in ${differencesText(differences)}. ${NOT_DEPLOYED}`;
  return warning(ID, text, 'If the file is right, deploy; else correct it, or name another with --configuration FILE.');
}
