import { readdirSync } from 'node:fs';
import { beforeEach, expect, test, vi } from 'vitest';
import { asStep } from '../../../core/step/export-run.ts';
import { tree } from '../../lib/support/files.ts';
import { runState } from '../../support/builders.ts';
import { composed, lambdaContext, testDeps } from '../../support/deps.ts';

const handler = asStep('CheckStatus', async () => ({ outcome: 'READY' as const }), ...composed(testDeps()));
let folder: string;

beforeEach(() => {
  const names = ['unpacked-a1', 'feed-b2', 'table-c3', 'of-somebody-else'];
  folder = tree(Object.fromEntries(names.map((name) => [`${name}/content`, 'x'])));
  vi.stubEnv('TMPDIR', folder);
  vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'crm-export-dev-PublishFile');
  vi.stubEnv('AWS_ENDPOINT_URL', undefined);
});

test('an invocation first removes only what killed invocations left', async () => {
  await handler(runState(), lambdaContext());

  expect(readdirSync(folder)).toEqual(['of-somebody-else']);
});

test.each([
  ['in a local cloud, where functions share the folder', 'AWS_ENDPOINT_URL', 'http://127.0.0.1:4566'],
  ['outside of a function', 'AWS_LAMBDA_FUNCTION_NAME', undefined],
])('an invocation removes nothing %s', async (_, name, value) => {
  vi.stubEnv(name, value);
  await handler(runState(), lambdaContext());

  expect(readdirSync(folder)).toHaveLength(4);
});
