import type { Command } from 'commander';
import { configurationFolder, deploymentNames, isLoopback } from '../../core/config/configuration.ts';
import { printErr } from './print.ts';

/** Configurations that every checkout has. */
const NOT_DEPLOYED = ['example', 'local'];

/**
 * The deployment for a command line that names none.
 * @returns `undefined` where there are several or none
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
 * Gives a command that names none its deployment before it runs, and prints which one that is: not a question, for what cannot
 * be undone (`stop`, `update`) asks with its name.
 * @throws CommanderError (exit code 2) where none can be chosen
 */
export function giveDeployment(command: Command): void {
  const endpoint = command.getOptionValue('endpointUrl') ?? process.env.AWS_ENDPOINT_URL;
  const configured = deploymentNames();
  const chosen = chooseDeployment(endpoint, process.env, configured);
  if (!chosen) {
    command.error(
      `error: required option '--deployment <name>' not specified, nor CRM_EXPORT_DEPLOYMENT; ${configurationFolder()}/ has ${configured.join(', ')}`,
    );
  }
  printErr(`Deployment ${chosen.name} (${chosen.from}).`);
  command.setOptionValueWithSource('deployment', chosen.name, 'implied');
}
