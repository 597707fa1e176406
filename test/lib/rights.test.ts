import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textTable } from '../../cli/support/text.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved, type Template } from '../../scripts/template.ts';
import { nameOf, rightsIn } from './support/rights.ts';
import { allOf, listed, statementsOf } from './support/template.ts';

/** All policies of a deployment with every option. `test/permissions` shows what they allow and refuse. */

const SCREEN = join(import.meta.dirname, '../screens/rights.txt');
const json = synthesise(fullDeployment());

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
