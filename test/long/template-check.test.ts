import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type App, CfnResource, Stack } from 'aws-cdk-lib';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ExportStack } from '../../lib/export-stack.ts';
import { fullDeployment, NETWORK } from '../../scripts/deployments.ts';
import { newApp } from '../../scripts/synthesise.ts';
import { folderForAll } from '../lib/support/files.ts';

const outdir = folderForAll();

/** Synthesises with the check, which all other tests turn off because it takes seconds. */
function synthesiseChecked(make: (app: App) => Stack): void {
  const app = newApp(mkdtempSync(join(outdir, 'app-')), { 'aws:cdk:bundling-stacks': [] });
  make(app);
  app.synth();
}

describe('the check of templates that comes with CDK', () => {
  beforeEach(() => {
    vi.stubEnv('CDK_VALIDATION', 'true');
  });

  test('finds no error in the stack', () => {
    const configuration = {
      name: 'example',
      file: 'config/example.json',
      deployment: fullDeployment({ network: NETWORK }),
    };

    synthesiseChecked((app) => new ExportStack(app, 'crm-export-example', { configuration, softwareVersion: '0.0.0' }));
  });

  test('fails a synthesis with a property that CloudFormation would refuse', () => {
    const make = (app: App) => {
      const stack = new Stack(app, 'Wrong');
      new CfnResource(stack, 'Queue', { type: 'AWS::SQS::Queue', properties: { DelaySeconds: 'soon' } });
      return stack;
    };

    expect(() => synthesiseChecked(make)).toThrow(/DelaySeconds: 'soon' is not of type 'integer'/);
  });
});
