import { CfnResource } from 'aws-cdk-lib';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { fullDeployment, NETWORK } from '../../scripts/deployments.ts';
import { stackOf } from '../lib/support/stack.ts';

/** All other tests turn the check off, because it takes seconds. */
describe('the check of templates that comes with CDK', () => {
  beforeEach(() => {
    vi.stubEnv('CDK_VALIDATION', 'true');
  });

  test('finds no error in the stack', () => {
    stackOf(fullDeployment({ network: NETWORK })).app.synth();
  });

  test('fails a synthesis with a property that CloudFormation would refuse', () => {
    const { app, stack } = stackOf();
    new CfnResource(stack, 'Wrong', { type: 'AWS::SQS::Queue', properties: { DelaySeconds: 'soon' } });

    expect(() => app.synth()).toThrow(/DelaySeconds: 'soon' is not of type 'integer'/);
  });
});
