import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { ConfigurationError, readConfiguration } from '../core/config/configuration.ts';
import { acceptFindings } from './accepted-findings.ts';
import { ExportStack } from './export-stack.ts';
import { refuseLargePolicies } from './policy-sizes.ts';
import { softwareVersion } from './software-version.ts';

/**
 * The app with the stack of the deployment that the context names; written when the process ends.
 * @param bundled resolves when the code of the steps is there
 */
export async function exportApp(bundled: Promise<void>): Promise<void> {
  const app = new App();
  try {
    const context = (key: string): unknown => app.node.tryGetContext(key);
    const configuration = readConfiguration(
      context('deployment'),
      context('configuration'),
      process.env.AWS_ENDPOINT_URL,
    );
    await bundled;
    const name = `crm-export-${configuration.name}`;
    const stack = new ExportStack(app, name, { configuration, softwareVersion: softwareVersion() });
    refuseLargePolicies(stack);
    // A finding that is not in the list ends the synthesis: nothing is deployed.
    acceptFindings(stack);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const line of error.message.split('\n')) process.stderr.write(`ConfigInvalid: ${line}\n`);
    process.exit(2);
  }
}
