import { App } from 'aws-cdk-lib';
import { ConfigurationError, readConfiguration } from '../lib/config.ts';
import { ExportStack } from '../lib/export-stack.ts';
import { softwareVersion } from '../lib/software-version.ts';

const app = new App();
try {
  const context = (key: string): unknown => app.node.tryGetContext(key);
  const configuration = readConfiguration(
    context('deployment'),
    context('configuration'),
    process.env.AWS_ENDPOINT_URL,
  );
  new ExportStack(app, `crm-export-${configuration.name}`, { configuration, softwareVersion: softwareVersion() });
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  for (const line of error.message.split('\n')) process.stderr.write(`ConfigInvalid: ${line}\n`);
  process.exit(2);
}
