import { expect, test } from 'vitest';
import { aws } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';

const RUNNING = 'leads-20261120T020000Z-1a2b3c';
const running = () =>
  aws(
    executions([{ name: RUNNING, status: 'RUNNING', input: { entity: 'leads' }, start: '2026-11-20T02:00:00.000Z' }]),
  );

test('refuses to retry a run under way', async () => {
  const { cli, asked } = await running();

  const { code, stdout, stderr } = await cli('retry', RUNNING);

  expect({ code, stdout, started: asked.includes('StartExecution') }).toEqual({ code: 2, stdout: '', started: false });
  expect(stderr).toContain(`${RUNNING} is under way: stop it first (`);
});

test('--force retries a run under way', async () => {
  const { cli, asked } = await running();

  await cli('retry', RUNNING, '--force');

  expect(asked).toContain('StartExecution');
});
