import { expect, test } from 'vitest';
import { aws } from './cloud/cloud.ts';
import { executions } from './cloud/executions.ts';
import { stack } from './cloud/stack.ts';

const night = {
  name: 'leads-night',
  status: 'FAILED',
  input: { entity: 'leads' },
  error: 'CrmUnavailable',
  cause: 'It does not answer.',
  start: '2026-11-20T01:00:00.000Z',
  stop: '2026-11-20T01:05:00.000Z',
} as const;

test.each([
  [['start', 'leads']],
  [['retry', 'leads-night']],
  [['backfill', 'leads', '--from', '2026-03-01', '--to', '2026-03-01', '--same-data', '--dry-run']],
])('during a deployment, %j warns that functions may have another configuration', async ([name = '', ...args]) => {
  const { cli } = await aws(stack({ TimeZone: 'UTC' }, 'UPDATE_IN_PROGRESS'), executions([night]));

  const { code, stderr } = await cli(name, ...args);

  expect(code, stderr).toBe(0);
  expect(stderr.match(/UPDATE_IN_PROGRESS: .* functions may have another configuration/g)).toHaveLength(1);
});

test('during a deployment, a command that only reads does not warn', async () => {
  const { cli } = await aws(stack({ TimeZone: 'UTC' }, 'UPDATE_IN_PROGRESS'), executions([night]));

  expect(await cli('list', 'leads')).toMatchObject({ code: 0, stderr: '' });
});
