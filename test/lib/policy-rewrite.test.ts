import { expect, test } from 'vitest';
import { rewritePolicies } from '../../lib/export-app.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import type { Template } from '../../scripts/template.ts';
import { stackOf } from './support/stack.ts';

const POLICIES = /^AWS::(S3::Bucket|SQS::Queue|SNS::Topic|IAM::)Policy$/;

function policiesIn({ Resources }: Template) {
  return Object.entries(Resources).flatMap(([id, { Type, Properties }]) => {
    if (Type === 'AWS::KMS::Key') return [[id, Properties.KeyPolicy.Statement] as const];
    return POLICIES.test(Type) ? [[id, Properties.PolicyDocument.Statement] as const] : [];
  });
}

test('-c rewrite=policies changes only one Sid in each policy of bucket, key, queues, topic and roles', () => {
  const plain = synthesise(fullDeployment());
  const rewritten = stackOf(fullDeployment());
  rewritePolicies(rewritten.stack, 'policies', new Date('2026-11-23T19:25:07.123Z'));
  const template: Template = rewritten.template();

  const policies = policiesIn(template);
  expect(policies.length).toBeGreaterThan(15);
  for (const [, statements] of policies) expect(statements[0].Sid).toBe('Rewritten20261123192507');
  for (const [index, [, before]] of policiesIn(plain).entries()) {
    const first = policies[index]?.[1][0];
    if (before[0].Sid === undefined) delete first.Sid;
    else first.Sid = before[0].Sid;
  }
  expect(template.Resources).toEqual(plain.Resources);
});

test('-c rewrite refuses anything but "policies"', () => {
  expect(() => rewritePolicies(stackOf().stack, 'rules', new Date())).toThrow('-c rewrite=policies');
});
