import type { Command } from 'commander';
import { CRM_EXPORT } from '../core/commands.ts';
import { configurationFolder, deploymentNames, isLoopback } from '../core/config/configuration.ts';
import { printErr } from './support/print.ts';

/** Configurations that are part of every checkout. */
const NOT_DEPLOYED = ['example', 'local'];

/**
 * Chooses the deployment for a command line that names none.
 * @returns `undefined` if there is no configured deployment, or more than one
 */
export function chooseDeployment(
  endpoint: string | undefined,
  env: NodeJS.ProcessEnv,
  configured: string[],
): { name: string; from: string } | undefined {
  const { CRM_EXPORT_DEPLOYMENT: name } = env;
  if (name) return { name, from: 'CRM_EXPORT_DEPLOYMENT' };
  if (isLoopback(endpoint)) return { name: 'local', from: 'what npm start deploys' };
  const [only, ...others] = configured.filter((each) => !NOT_DEPLOYED.includes(each));
  return only && others.length === 0 ? { name: only, from: `the only one in ${configurationFolder()}/` } : undefined;
}

/**
 * Sets the deployment of a command that names none, and prints its name. It does not ask, because commands that cannot
 * be undone (`stop`, `update`) ask with the name of the deployment.
 * @throws CommanderError (exit code 2) if no deployment can be chosen
 */
export function setDeployment(command: Command): void {
  const endpoint = command.getOptionValue('endpointUrl') ?? process.env.AWS_ENDPOINT_URL;
  const configured = deploymentNames();
  const chosen = chooseDeployment(endpoint, process.env, configured);
  if (!chosen) {
    const own = configured.filter((each) => !NOT_DEPLOYED.includes(each)).join(', ');
    const there = own ? `${configurationFolder()}/ has ${own}` : `to write a configuration: ${CRM_EXPORT} init`;
    command.error(`error: name the deployment with --deployment or CRM_EXPORT_DEPLOYMENT; ${there}`);
  }
  printErr(`Deployment ${chosen.name} (${chosen.from}).`);
  command.setOptionValueWithSource('deployment', chosen.name, 'implied');
}
