import { Annotations, Match } from 'aws-cdk-lib/assertions';
import type { Deployment } from '../../../core/config/deployment.ts';
import { ExportStack } from '../../../lib/export-stack.ts';
import { exampleDeployment } from '../../../scripts/deployments.ts';
import { newApp } from '../../../scripts/synthesise.ts';
import { tree } from './files.ts';

/**
 * The stack of a deployment in its own app, without bundled code, until the test ends.
 * @param context additions to `cdk.json`
 */
export function stackOf(deployment = exampleDeployment(), context: Record<string, unknown> = {}) {
  const app = newApp(tree({}), { 'aws:cdk:bundling-stacks': [], ...context });
  const configuration = { name: 'example', file: 'config/example.json', deployment };
  const stack = new ExportStack(app, 'crm-export-example', { configuration, softwareVersion: '0.0.0' });
  return { app, stack, template: () => app.synth().getStackArtifact(stack.artifactId).template };
}

/** The ids of the warnings that the CDK CLI would print for the stack. */
export function warningsOf(deployment: Deployment): string[] {
  const warnings = Annotations.fromStack(stackOf(deployment).stack).findWarning('*', Match.anyValue());
  return warnings.map(({ entry }) => /\[ack: crm-export:([\w-]+)\]$/.exec(String(entry.data))?.[1] ?? 'without id');
}
