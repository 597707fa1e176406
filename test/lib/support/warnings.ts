import { App } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import type { Deployment } from '../../../core/config/deployment.ts';
import { ExportStack } from '../../../lib/export-stack.ts';

/** The ids of the warnings that the CDK CLI would print for the stack. */
export function warningsOf(deployment: Deployment): string[] {
  const app = new App({ treeMetadata: false, analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
  const configuration = { name: 'example', file: 'config/example.json', deployment };
  const stack = new ExportStack(app, 'crm-export-example', { configuration, softwareVersion: '0.0.0' });
  const warnings = Annotations.fromStack(stack).findWarning('*', Match.anyValue());
  return warnings.map(({ entry }) => /\[ack: crm-export:([\w-]+)\]$/.exec(String(entry.data))?.[1] ?? 'without id');
}
