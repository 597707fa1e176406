import { type Configuration, ConfigurationError, readConfiguration } from '../../core/config/configuration.ts';
import { type DeployedOutputs, type Difference, deployedCrm } from '../../core/config/deployed.ts';
import type { TargetOptions } from './target.ts';

export interface ConfigurationOptions extends TargetOptions {
  configuration?: string | undefined;
}

/** The configuration file of a deployment, or why it cannot be used: the outputs of the stack may do without it. */
export function configurationOrError(options: ConfigurationOptions): Configuration | ConfigurationError {
  const { deployment, configuration, endpointUrl = process.env.AWS_ENDPOINT_URL } = options;
  try {
    return readConfiguration(deployment, configuration, endpointUrl);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
}

/**
 * How the CRM is reached: what is deployed counts, the file only where a stack of an earlier release does not tell.
 * @throws ConfigurationError where the file is needed and cannot be used
 */
export function crmOf(deployed: DeployedOutputs | undefined, file: Configuration | ConfigurationError) {
  if (deployed) return deployedCrm(deployed);
  if (file instanceof ConfigurationError) throw file;
  return file.deployment.crm;
}

/** `crm.baseUrl (deployed: https://a.example; file: https://b.example), polling` */
export function differencesText(differences: Difference[]): string {
  const texts = differences.map(({ key, deployed, file }) =>
    deployed === undefined ? key : `${key} (deployed: ${deployed}; file: ${file})`,
  );
  return texts.join(', ');
}
