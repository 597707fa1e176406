import { expect, test } from 'vitest';
import type { Checked } from '../../../cli/health/check.ts';
import { deployedConfiguration, unsettledText } from '../../../cli/support/deployed-configuration.ts';
import { deployedOf, metadataOf } from '../../../core/config/deployed.ts';
import { deployment } from '../../support/builders.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { refused } from './cloud/answers.ts';
import { aws, awsWithTarget } from './cloud/cloud.ts';
import { executions } from './cloud/executions.ts';
import { stack, template } from './cloud/stack.ts';
import type { CliResult } from './run-cli.ts';

const columns = {
  only: Array.from({ length: 500 }, (_, n) => `column_${n}`),
  labels: { 'טלפון נייד': 'column_1' },
};
const leads = { columns, sorts: [{ Ref: 'x' }], filters: [{ field: 'שם', value: { Ref: 'x' } }] };

test('Hebrew, keys like "Ref", and 500 columns are read back from a template without non-ASCII characters', async () => {
  const told = deployedOf(deployment({ entities: { leads } }));
  const body = { Metadata: { ...metadataOf(told), greeting: 'שלום' }, Resources: {} };
  const { target } = await awsWithTarget(template(body));

  const said: string[] = [];
  const found = await deployedConfiguration(target, (line) => said.push(line));

  expect(found).toEqual(told);
  expect(said).toEqual([]);
});

test('during a deployment, the commands that change something warn once, and others do not', async () => {
  const night = { name: 'leads-night', status: 'FAILED', input: { entity: 'leads' }, error: 'CrmUnavailable' };
  const times = { start: '2026-11-20T01:00:00.000Z', stop: '2026-11-20T01:05:00.000Z' };
  const paused = { DescribeRule: { State: 'DISABLED' } };
  const deploying = stack({ TimeZone: 'UTC' }, 'UPDATE_IN_PROGRESS');
  const { cli } = await aws(deploying, executions([{ ...night, ...times }]), paused);
  const march = '--from 2026-03-01 --to 2026-03-01';

  const warnings: string[] = [];
  for (const line of [
    'start leads',
    'retry leads-night',
    `backfill leads ${march} --same-data --dry-run`,
    'pause leads',
  ]) {
    const { code, stderr } = await cli(...line.split(' '));
    expect(code, stderr).toBe(0);
    const found = stderr.split('\n').filter((each) => each.includes('UPDATE_IN_PROGRESS'));
    expect([line, found.length]).toEqual([line, 1]);
    warnings.push(...found);
  }

  expect(new Set(warnings).size).toBe(1);
  expect(await cli('list', 'leads')).toMatchObject({ code: 0, stderr: '' });
  const { stack: finding } = await findingsOf(cli);
  expect(finding).toMatchObject({ verdict: 'warning' });
  await expectTexts('during-deployment', [
    ['start, retry, backfill and pause', warnings[0] ?? ''],
    ['doctor, of the stack', finding?.found ?? ''],
  ]);
});

test('a stack is settled after a success, and not during or after another end', () => {
  const unsettled = (stackStatus: string) => unsettledText({ stack: 's', stackStatus }) !== undefined;
  const good = ['CREATE_COMPLETE', 'UPDATE_COMPLETE', 'UPDATE_ROLLBACK_COMPLETE', 'IMPORT_COMPLETE'];
  const ends = ['UPDATE_ROLLBACK_FAILED', 'UPDATE_FAILED', 'ROLLBACK_COMPLETE', 'DELETE_FAILED'];
  const others = [...ends, 'UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'UPDATE_ROLLBACK_IN_PROGRESS'];

  expect([...good, 'IMPORT_ROLLBACK_COMPLETE', ...others].filter(unsettled)).toEqual(others);
});

async function findingsOf(cli: (...args: string[]) => Promise<CliResult>): Promise<Record<string, Checked>> {
  const { checks } = JSON.parse((await cli('doctor', '--json')).stdout);
  return Object.fromEntries(checks.map((check: Checked) => [check.id, check]));
}

const OF_ANOTHER_RELEASE = template({ Resources: {} });

test('each command that reads the configuration refuses a stack of another release in one sentence', async () => {
  const { cli, asked } = await awsWithTarget(OF_ANOTHER_RELEASE);
  const lines = [
    'authorize --client-id x --no-browser',
    'backfill leads --from 2026-03-01 --to 2026-03-02',
    'resume leads',
    'report -o -',
    'table leads --outdated',
  ];

  const results: [string, CliResult][] = [];
  for (const line of lines) results.push([line, await cli(...line.split(' '))]);

  expect(results.map(([, { code, stdout }]) => [code, stdout])).toEqual(lines.map(() => [2, '']));
  expect(asked).toEqual([]);
  expect(await findingsOf(cli)).toMatchObject({ configuration: { verdict: 'broken' }, stack: { verdict: 'holds' } });
  await expectResults('another-release', results);
});

test('without the right to read the template, resume and doctor say so, and list works', async () => {
  const denied = refused('AccessDenied', 'not authorized to perform: cloudformation:GetTemplate', { status: 403 });
  const { cli } = await awsWithTarget({ GetTemplate: denied });

  // Runs one after the other, because doctor sets the exit code of the process.
  const listed = await cli('list');
  const resumed = await cli('resume', 'leads');

  const { configuration } = await findingsOf(cli);

  expect(configuration).toMatchObject({ verdict: 'unknown' });
  expect(resumed.code).toBe(3);
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  await expectTexts('no-template', [
    ['resume', resumed.stderr],
    ['doctor, of the configuration', configuration?.found ?? ''],
  ]);
});
