import { expect, test } from 'vitest';
import { deployedConfiguration, unsettledText } from '../../../cli/support/deployed-configuration.ts';
import { deployedOf, metadataOf } from '../../../core/config/deployed.ts';
import { deployment } from '../../support/builders.ts';
import { refused } from './cloud/answers.ts';
import { aws, awsWithTarget } from './cloud/cloud.ts';
import { executions } from './cloud/executions.ts';
import { stack, template } from './cloud/stack.ts';

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

test.each([
  ['start', 'leads'],
  ['retry', 'leads-night'],
  ['backfill', 'leads', '--from', '2026-03-01', '--to', '2026-03-01', '--same-data', '--dry-run'],
  ['pause', 'leads'],
])('during a deployment, %s warns once', async (...args) => {
  const night = { name: 'leads-night', status: 'FAILED', input: { entity: 'leads' }, error: 'CrmUnavailable' };
  const times = { start: '2026-11-20T01:00:00.000Z', stop: '2026-11-20T01:05:00.000Z' };
  const paused = { DescribeRule: { State: 'DISABLED' } };
  const deploying = stack({ TimeZone: 'UTC' }, 'UPDATE_IN_PROGRESS');
  const { cli } = await aws(deploying, executions([{ ...night, ...times }]), paused);

  const { code, stderr } = await cli(...args);

  expect(code, stderr).toBe(0);
  expect(stderr.match(/UPDATE_IN_PROGRESS: .* functions may have another configuration/g)).toHaveLength(1);
});

test('a stack is settled after a success, and not during or after another end', () => {
  const unsettled = (stackStatus: string) => unsettledText({ stack: 's', stackStatus }) !== undefined;
  const good = ['CREATE_COMPLETE', 'UPDATE_COMPLETE', 'UPDATE_ROLLBACK_COMPLETE', 'IMPORT_COMPLETE'];
  const ends = ['UPDATE_ROLLBACK_FAILED', 'UPDATE_FAILED', 'ROLLBACK_COMPLETE', 'DELETE_FAILED'];
  const others = [...ends, 'UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'UPDATE_ROLLBACK_IN_PROGRESS'];

  expect([...good, 'IMPORT_ROLLBACK_COMPLETE', ...others].filter(unsettled)).toEqual(others);
});

test('during a deployment, doctor warns in its check of the stack, and a command that only reads does not', async () => {
  const { cli } = await aws(stack({}, 'UPDATE_IN_PROGRESS'));

  expect((await cli('doctor')).stdout).toMatch(/^! stack: Does the stack exist\? .* is in UPDATE_IN_PROGRESS: /m);
  expect(await cli('list', 'leads')).toMatchObject({ code: 0, stderr: '' });
});

const OF_ANOTHER_RELEASE = template({ Resources: {} });

test.each<[string, string[]]>([
  ['authorize', ['--client-id', 'x', '--no-browser']],
  ['backfill', ['leads', '--from', '2026-03-01', '--to', '2026-03-02']],
  ['resume', ['leads']],
  ['report', ['-o', '-']],
  ['table', ['leads', '--outdated']],
])('%s refuses a stack of another release in one sentence', async (name, args) => {
  const { cli, asked } = await awsWithTarget(OF_ANOTHER_RELEASE);

  const { code, stdout, stderr } = await cli(name, ...args);

  expect({ code, stdout, asked }).toEqual({ code: 2, stdout: '', asked: [] });
  expect(stderr).toMatch(/^ConfigInvalid: /);
  expect((await cli('doctor', '--all')).stdout).toMatch(/^✕ configuration: .*✓ stack: /s);
});

test('without the right to read the template, resume and doctor say so, and list works', async () => {
  const denied = refused('AccessDenied', 'not authorized to perform: cloudformation:GetTemplate', { status: 403 });
  const { cli } = await awsWithTarget({ GetTemplate: denied });

  // Runs one after the other, because doctor sets the exit code of the process.
  const listed = await cli('list');
  const resumed = await cli('resume', 'leads');
  const doctor = await cli('doctor');

  expect(resumed).toMatchObject({ code: 3, stderr: expect.stringMatching(/^AWS denies access .*GetTemplate/) });
  expect(doctor.stdout).toMatch(
    /^\? configuration: .*\? These credentials lack the right cloudformation:GetTemplate\./m,
  );
  expect(listed).toMatchObject({ code: 0, stderr: '' });
});
