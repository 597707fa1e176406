import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textTable } from '../../cli/support/text.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved, type Template } from '../../scripts/template.ts';
import { allOf, executionsOf, listed, type Statement, statementsOf, textOf } from './support/template.ts';

/** All policies of a deployment with every option. `test/permissions` shows what they allow and refuse. */

const SCREEN = join(import.meta.dirname, '../screens/rights.txt');
const json = synthesise(fullDeployment());
const WITH_POLICY = ['KMS::Key', 'S3::BucketPolicy', 'SNS::TopicPolicy', 'SQS::QueuePolicy'];

/** An id without the hash that CDK appends. The ARNs of executions are made of parts of the machine's ARN. */
function nameOf(value: unknown): string {
  const executions = executionsOf(value);
  return executions
    ? `execution:CustomerUpdates${executions}`
    : textOf(value).replaceAll(/([a-z])[0-9A-F]{8}\b(?:\.Arn)?/g, '$1');
}

function conditionText(condition: Record<string, Record<string, unknown>> = {}): string {
  return Object.entries(condition)
    .flatMap(([operator, keys]) =>
      Object.entries(keys).map(([key, values]) => `${operator} ${key} ${listed(values).map(nameOf).join(' | ')}`),
    )
    .join(', ')
    .replaceAll('.AWS::Region.AWS::URLSuffix', '');
}

/** A row for each principal and resource of a statement. @param of the principals or resources that it does not name */
function rowsOf(statement: Statement, policy: string, of: { who?: string[]; on?: string[] } = {}): string[][] {
  const { Effect, Action, Principal, Resource, Condition } = statement;
  const named =
    typeof Principal === 'string'
      ? [Principal]
      : Object.values(Principal ?? {})
          .flatMap(listed)
          .map(nameOf);
  const { who = named, on = listed(Resource).map(nameOf) } = of;
  return who.flatMap((role) =>
    on.map((each) => [role, Effect, each, listed(Action).toSorted().join(' '), conditionText(Condition), policy]),
  );
}

function rightsIn({ Resources }: Template): string[][] {
  return Object.entries(Resources)
    .flatMap(([id, resource]) => {
      const { Type, Properties } = resource;
      const own = nameOf({ Ref: id });
      if (Type === 'AWS::IAM::Role')
        return Properties.AssumeRolePolicyDocument.Statement.flatMap((each: Statement) =>
          rowsOf(each, 'its trust', { on: [own] }),
        );
      const who = Type === 'AWS::IAM::Policy' ? { who: Properties.Roles.map(nameOf) } : {};
      const policy = Type === 'AWS::IAM::Policy' ? 'its own' : own;
      const hasPolicy = 'who' in who || WITH_POLICY.some((type) => Type.endsWith(type));
      return hasPolicy ? statementsOf(resource).flatMap((each) => rowsOf(each, policy, who)) : [];
    })
    .toSorted((one, other) => one.join(' ').localeCompare(other.join(' '), 'en'));
}

test('the rights equal the stored table', async () => {
  const columns = ['who', 'effect', 'on', 'actions', 'if', 'policy'];
  await expect(`${textTable(columns, rightsIn(json))}\n`).toMatchFileSnapshot(SCREEN);
});

test('a deployment without options has only rights that the full one has', () => {
  const all = new Set(rightsIn(json).map((row) => row.join(' ')));

  expect(rightsIn(synthesise()).filter((row) => !all.has(row.join(' ')))).toEqual([]);
});

test('without options a function has the same rights, except those of an option', () => {
  const rightsOf = (template: Template) =>
    rightsIn(template)
      .filter(([who = '']) => /^(CreateExport|CheckStatus|DownloadFile|PublishFile|RecordNight|Mail\w+)Role$/.test(who))
      .map((row) => row.join(' '));

  // Tables of an earlier configuration may still be there.
  const ofOption = /(?<!^RecordNight.*)tables|changes|updates|Tagging/i;
  expect(rightsOf(synthesise())).toEqual(rightsOf(json).filter((row) => !ofOption.test(row)));
});

describe('the policies of all roles', () => {
  const statements = allOf(json, 'AWS::IAM::Policy').flatMap(([, policy]) => statementsOf(policy));

  test('name resources without wildcards in a deployment without options', () => {
    const plain = allOf(synthesise(), 'AWS::IAM::Policy').flatMap(([, policy]) => statementsOf(policy));
    const named = plain.filter(({ Resource }) => Resource !== '*');

    expect(named.length).toBeGreaterThan(plain.length / 2);
    for (const { Resource } of named) expect(listed(Resource).map(resolved).join()).not.toContain('*');
  });

  test('have named actions on named resources, or only actions that support no resources', () => {
    const unnamed = /^(xray:(Put|Get)|logs:.*(LogDelivery|LogDeliveries|ResourcePolic|DescribeLogGroups))/;
    for (const statement of statements) {
      expect(statement).not.toHaveProperty('NotAction');
      expect(statement).not.toHaveProperty('NotResource');
      const actions = listed(statement.Action).map(String);
      if (statement.Resource === '*') for (const action of actions) expect(action).toMatch(unnamed);
      else expect([...actions, ...listed(statement.Resource).map(nameOf)].join()).not.toMatch(/\*(?!$)|^\*/);
    }
  });

  test('belong to one function each, without managed or inline policies', () => {
    const roles = allOf(json, 'AWS::Lambda::Function').map(([, { Properties }]) => resolved(Properties.Role));

    expect(new Set(roles).size).toBe(roles.length);
    for (const [, { Properties }] of allOf(json, 'AWS::IAM::Role')) {
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
      expect(Properties).not.toHaveProperty('Policies');
    }
  });
});
