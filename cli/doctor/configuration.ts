import { type Configuration, ConfigurationError } from '../../core/config/configuration.ts';
import { type DeployedOutputs, type Difference, differencesFrom, planKey } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type Finding, holds, warning } from '../checks/finding.ts';
import {
  type ConfigurationOptions,
  configurationOrError,
  crmOf,
  differencesText,
} from '../support/configuration-file.ts';

const NOT_DEPLOYED = 'What is deployed is looked at here, by the outputs of the stack.';

/** The configuration that a nightly run is checked against. */
export interface Configured {
  crm: ReturnType<typeof crmOf>;
  /** `undefined` where there is none that can be used. */
  file: Deployment | undefined;
  /** Entities whose plan in the file is not the one deployed. */
  unknownPlans: Entity[];
  /** Whether plans and updates in the file are those deployed. */
  sameNights: boolean;
  /** Whether time zone and night in the file are those deployed. */
  sameClock: boolean;
  /** How the file differs from what is deployed. */
  finding: Finding;
}

/**
 * Compares the configuration file with what is deployed, which alone counts for a nightly run.
 * @param outputs `undefined` for a stack of an earlier release: then the file counts
 * @throws ConfigurationError where it is needed and cannot be used
 */
export function configured(options: ConfigurationOptions, outputs: DeployedOutputs | undefined): Configured {
  const found = configurationOrError(options);
  const crm = crmOf(outputs, found);
  if (found instanceof ConfigurationError) {
    const text = `${found.message.replaceAll('\n', '; ')}. ${NOT_DEPLOYED}`;
    const advice = 'To compare it with a file: --configuration FILE. Correct the file before the next deploy.';
    const finding = warning(text, advice);
    return { crm, file: undefined, unknownPlans: [...ENTITIES], sameNights: false, sameClock: false, finding };
  }
  const { file, deployment } = found;
  const differences = outputs ? differencesFrom(outputs, deployment) : [];
  const unknownPlans = ENTITIES.filter((entity) => differences.some(({ key }) => key === planKey(entity)));
  const sameNights = unknownPlans.length === 0 && !differences.some(({ key }) => key === 'updates');
  const sameClock = !differences.some(({ key }) => ['timeZone', 'nightly'].includes(key));
  const finding =
    differences.length === 0
      ? holds(`${file} is ${outputs ? 'what is deployed' : 'valid'}.`)
      : differs(found, differences, options);
  return { crm, file: deployment, unknownPlans, sameNights, sameClock, finding };
}

function differs(
  { file, deployment }: Configuration,
  differences: Difference[],
  { configuration }: ConfigurationOptions,
): Finding {
  const text = `${file} differs from what is deployed in ${differencesText(differences)}. ${NOT_DEPLOYED}`;
  if (deployment.local && configuration === undefined) {
    const advice =
      'npm start deploys it with addresses of its own: add the --configuration that npm start -- --keep prints.';
    return warning(text, advice);
  }
  return warning(text, 'If the file is right, deploy; else correct it, or name another with --configuration FILE.');
}
