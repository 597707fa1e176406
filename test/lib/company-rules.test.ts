import { readFileSync } from 'node:fs';
import { Aspects, Tag } from 'aws-cdk-lib';
import { ArnPrincipal } from 'aws-cdk-lib/aws-iam';
import { describe, expect, test } from 'vitest';
import { once } from '../../core/step/step.ts';
import type { ExportStack } from '../../lib/export-stack.ts';
import { fullDeployment, NETWORK } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import type { Resource, Template } from '../../scripts/template.ts';
import { fencedBlock } from '../support/fenced-block.ts';
import { stackOf } from './support/stack.ts';
import { allOf, listed, oneOf, statementsOf } from './support/template.ts';

/** The statements of docs/company-rules.md, each at synthesis. */

const PLAIN = synthesise(fullDeployment());
const PAGE = 'docs/company-rules.md';
const { context } = JSON.parse(fencedBlock(PAGE, '## Boundary, bootstrap and tags', 'json'));

/** The stack with all options under a context. @param change a change that the company's app makes to the stack */
function templateUnder(given: Record<string, unknown>, change: (stack: ExportStack) => void = () => {}): Template {
  const { stack, template } = stackOf(fullDeployment(), given);
  change(stack);
  return template();
}

/** Properties that differ from those of the default template, by resource type. */
function differing({ Resources }: Template): string[] {
  const text = (value: unknown) => JSON.stringify(value)?.replaceAll(/"S3(Bucket|Key)":\{?[^}]*\}?/g, '');
  const ofOne = ([id, { Type, Properties = {} }]: [string, Resource]) =>
    Object.keys(Properties)
      .filter((name) => text(Properties[name]) !== text(PLAIN.Resources[id]?.Properties?.[name]))
      .map((name) => `${Type} ${name}`);
  expect(Object.keys(Resources)).toEqual(Object.keys(PLAIN.Resources));
  return [...new Set(Object.entries(Resources).flatMap(ofOne))];
}

test('a permissions boundary is set on every role, and changes no other resource', () => {
  const key = '@aws-cdk/core:permissionsBoundary';
  const template = templateUnder({ [key]: context[key] });

  expect(differing(template)).toEqual(['AWS::IAM::Role PermissionsBoundary']);
  for (const [id, { Properties }] of allOf(template, 'AWS::IAM::Role'))
    expect(JSON.stringify(Properties.PermissionsBoundary), id).toMatch(/:iam::.*:policy\/company-boundary/);
});

test('the document names exactly the services of which roles need rights, which a boundary has to allow', () => {
  const [, allowed = ''] = /It must exist, and allow (.*?)\. /.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const policies = allOf(synthesise(fullDeployment({ network: NETWORK })), 'AWS::IAM::Policy');
  const actions = policies.flatMap(([, policy]) => statementsOf(policy)).flatMap(({ Action }) => listed(Action));

  // The policy of the bucket gives the roles their rights on S3.
  const services = new Set(['s3', ...actions.map((action) => String(action).split(':')[0])]);
  expect([...allowed.matchAll(/`(\w+)/g)].map(([, service]) => service).toSorted()).toEqual([...services].toSorted());
});

test('the template uses the bootstrap of the configured qualifier', () => {
  const key = '@aws-cdk/core:bootstrapQualifier';
  const template = JSON.stringify(templateUnder({ [key]: context[key] }));

  expect(template).toContain('/cdk-bootstrap/company/version');
  expect(template).toContain('cdk-company-assets-');
  expect(template).not.toContain('hnb659fds');
});

describe('the documented company.ts', () => {
  const [, code = ''] = fencedBlock(PAGE, '## Administrators of the key', 'ts').split('exportApp(bundleAhead());\n');
  const apply = new Function('stack', 'ArnPrincipal', 'Aspects', 'Tag', code);
  const applied = once(() => templateUnder({}, (stack) => apply(stack, ArnPrincipal, Aspects, Tag)));

  test('sets the tag on taggable resources, and otherwise changes only the policy of the key', () => {
    const changed = differing(applied());

    expect(changed).toEqual(expect.arrayContaining(['AWS::S3::Bucket Tags', 'AWS::Lambda::Function Tags']));
    // A table has its tags on its replicas.
    const others = ['AWS::KMS::Key KeyPolicy', 'AWS::DynamoDB::GlobalTable Replicas'];
    expect(changed.filter((name) => !name.endsWith('Tags')).toSorted()).toEqual(others.toSorted());
  });

  test('adds the administrator of the key after the other statements', () => {
    const [[, plain], [, key]] = [oneOf(PLAIN, 'AWS::KMS::Key'), oneOf(applied(), 'AWS::KMS::Key')];

    expect(statementsOf(key).slice(0, -1)).toEqual(statementsOf(plain));
    const administrators = 'arn:aws:iam::000000000000:role/key-administrators';
    expect(statementsOf(key).at(-1)).toMatchObject({ Effect: 'Allow', Principal: { AWS: administrators } });
  });
});
