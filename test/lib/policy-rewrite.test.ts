import { App, Stack } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { rewritePolicies } from '../../lib/export-app.ts';
import { ExportStack } from '../../lib/export-stack.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import type { Template } from '../../scripts/template.ts';

const POLICIES = /^AWS::(S3::Bucket|SQS::Queue|SNS::Topic|IAM::)Policy$/;

/** The stack with all options, and its policies by resource. */
function policiesWith(asked: string | undefined) {
  const app = new App({ treeMetadata: false, context: { ...cdkJson.context, 'aws:cdk:bundling-stacks': [] } });
  const configuration = { name: 'example', file: 'config/example.json', deployment: fullDeployment() };
  const stack = new ExportStack(app, 'crm-export-example', { configuration, softwareVersion: '0.0.0' });
  rewritePolicies(stack, asked, new Date('2026-11-23T19:25:07.123Z'));
  const { Resources }: Template = app.synth().getStackArtifact(stack.artifactId).template;
  const policies = Object.entries(Resources).flatMap(([id, { Type, Properties }]) => {
    if (Type === 'AWS::KMS::Key') return [[id, Properties.KeyPolicy.Statement] as const];
    return POLICIES.test(Type) ? [[id, Properties.PolicyDocument.Statement] as const] : [];
  });
  return { Resources, policies };
}

test('-c rewrite=policies changes only one Sid in each policy of bucket, key, queues, topic and roles', () => {
  const plain = policiesWith(undefined);
  const { Resources, policies } = policiesWith('policies');

  expect(policies.length).toBeGreaterThan(15);
  for (const [, statements] of policies) expect(statements[0].Sid).toBe('Rewritten20261123192507');
  for (const [index, [, [first]]] of policies.entries()) {
    const before = plain.policies[index]?.[1][0].Sid;
    if (before === undefined) delete first.Sid;
    else first.Sid = before;
  }
  expect(Resources).toEqual(plain.Resources);
});

test('-c rewrite refuses anything but "policies"', () => {
  expect(() => rewritePolicies(new Stack(new App()), 'rules', new Date())).toThrow(
    '-c rewrite=rules: only policies can be rewritten: -c rewrite=policies',
  );
});
