import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { exceptedOf, onlyOf } from '../core/config/chosen-columns.ts';
import { type Configuration, ConfigurationError, readConfiguration } from '../core/config/configuration.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { acceptFindings } from './accepted-findings.ts';
import { ExportStack } from './export-stack.ts';
import { rewritePolicies } from './policy-rewrite.ts';
import { refuseLargePolicies } from './policy-sizes.ts';
import { softwareVersion } from './software-version.ts';

/**
 * The app with the stack of the deployment that the context names; written when the process ends. A mistake in the configuration ends the
 * process.
 * @param bundled resolves when the code of the steps is there
 * @returns the stack, for an app that adds rules of its company to it (docs/company-rules.md)
 */
export async function exportApp(bundled: Promise<void>): Promise<ExportStack> {
  const app = new App();
  try {
    const context = (key: string): unknown => app.node.tryGetContext(key);
    const configuration = readConfiguration(
      context('deployment'),
      context('configuration'),
      process.env.AWS_ENDPOINT_URL,
    );
    await bundled;
    process.stderr.write(`${exportsText(configuration)}\n`);
    const name = `crm-export-${configuration.name}`;
    const stack = new ExportStack(app, name, { configuration, softwareVersion: softwareVersion() });
    rewritePolicies(stack, context('rewrite'), new Date());
    refuseLargePolicies(stack);
    // A finding that is not in the list ends the synthesis: nothing is deployed.
    acceptFindings(stack);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    return stack;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const line of error.message.split('\n')) process.stderr.write(`ConfigInvalid: ${line}\n`);
    process.exit(2);
  }
}

/** One line that says what the nights of a deployment export: a list of one entity in the file switches no other one off. */
export function exportsText({ name, deployment: { entities } }: Pick<Configuration, 'name' | 'deployment'>): string {
  const textOf = (entity: (typeof ENTITIES)[number]) => {
    const only = onlyOf(entities[entity]);
    const excepted = exceptedOf(entities[entity]);
    const parts = [
      ...(only ? [`${only.length} columns`] : []),
      ...(excepted.length > 0 ? [`without ${excepted.join(', ')}`] : []),
    ];
    return parts.length > 0 ? `${entity} (${parts.join(', ')})` : entity;
  };
  const on = ENTITIES.filter((entity) => entities[entity].enabled);
  const off = ENTITIES.filter((entity) => !entities[entity].enabled);
  const exported = on.length > 0 ? `exports ${on.map(textOf).join(', ')}` : 'exports nothing by itself';
  return `The deployment ${name} ${exported}.${off.length > 0 ? ` Switched off: ${off.join(', ')}.` : ''}`;
}
