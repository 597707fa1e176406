import { readFileSync } from 'node:fs';
import { Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, test } from 'vitest';
import { ACCEPTED_FINDINGS, acceptFindings } from '../../lib/accepted-findings.ts';
import type { ExportStack } from '../../lib/export-stack.ts';
import { fullDeployment, NETWORK } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { stackOf } from './support/stack.ts';
import { rightsIn } from './support/template.ts';

/** The findings of the check: "rule path", sorted. */
function findings(stack: ExportStack): string[] {
  return new AwsSolutionsChecks()
    .validateScope(stack)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ constructPath }) => `${ruleName} ${constructPath?.replace(`${stack.node.path}/`, '')}`),
    )
    .toSorted();
}

const listedFindings = ACCEPTED_FINDINGS.flatMap(({ id, paths }) => paths.map((path) => `${id} ${path}`)).toSorted();
const optional = /(ValidateBatch|ApplyChunk\/|SummarizeBatch|CustomerUpdates|WriteTable|WriteChanges|Tables\/)/;

describe('the findings of cdk-nag are exactly the accepted ones, and acknowledging them leaves none', () => {
  test('with customer updates, tables and a network', () => {
    const { stack } = stackOf(fullDeployment({ network: NETWORK }));
    expect(findings(stack)).toEqual(listedFindings);
    acceptFindings(stack);
    expect(findings(stack)).toEqual([]);
  });

  test('without options', () => {
    const { stack } = stackOf();
    expect(findings(stack)).toEqual(listedFindings.filter((finding) => !optional.test(finding)));
    acceptFindings(stack);
    expect(findings(stack)).toEqual([]);
  });
});

test('docs/security.md names every action that is allowed on a wildcard, and who has it', () => {
  const template = synthesise(fullDeployment({ network: NETWORK }));
  const onWildcards = rightsIn(template).filter(([, , on, , , policy]) => policy === 'its own' && on?.endsWith('*'));
  const granted = onWildcards.flatMap(([role = '', , , actions = '']) =>
    actions
      .split(' ')
      .map((action) => [action, role.includes('Machine') ? role.replace(/Machine.*/, '') : 'functions']),
  );
  const chapter = readFileSync('docs/security.md', 'utf8').split('\n## Who may do what\n')[1]?.split('\n## ')[0] ?? '';
  const rows = chapter.split('\n').filter((line) => /^\| `(xray|logs|states|ec2):/.test(line));
  const owners: Record<string, string[]> = {
    'functions and machines': ['functions', 'ExportRun', 'CustomerUpdates'],
    'functions in your subnets, where `network` is set': ['functions'],
    machines: ['ExportRun', 'CustomerUpdates'],
    CustomerUpdates: ['CustomerUpdates'],
  };
  const said = rows.flatMap((row) => {
    const [, actions = '', whose = ''] = row.split('|').map((cell) => cell.trim());
    return [...actions.matchAll(/`([\w:]+)`/g)].flatMap(([, action]) => owners[whose]?.map((owner) => [action, owner]));
  });

  expect(new Set(granted.map(String))).toEqual(new Set(said.map(String)));
});

test('a finding that is not accepted fails the synthesis, even if the same rule is accepted elsewhere', () => {
  // CDK's own check of the template takes seconds and is not under test here.
  const { app, stack } = stackOf(undefined, { '@aws-cdk/core:validateAgainstDefaultRules': false });
  acceptFindings(stack);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  new Queue(stack, 'Careless', { enforceSSL: true });

  expect(() => app.synth()).toThrow(/crm-export-example\/Careless\/Resource[\s\S]*AwsSolutions-SQS3/);
});
