import { expect, test } from 'vitest';
import { codeOf } from '../../cli/support/exit.ts';
import { RunError } from '../../core/errors.ts';
import { bucketRefuses } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';

/** Runs a command against a bucket that gives this answer to every call. */
async function against(code: string, status: number, ...args: string[]) {
  const { cli } = await aws(bucketRefuses(code, status));
  return cli(...args);
}

test.for([
  ['AccessDenied', 403, /^AWS denies access \(AccessDenied\): .*--profile/],
  ['ExpiredToken', 400, /^The AWS credentials have expired \(ExpiredToken\): log in again/],
  [
    'NoSuchBucket',
    404,
    /^The bucket of the deployment is missing \(NoSuchBucket: refused\): restore it under its old name, or deploy again \(docs\/runbook\.md, StorageDenied\)\.$/,
  ],
] as const)('%s from the bucket exits with 3 and one sentence that says what to do', async ([code, status, told]) => {
  for (const args of [['report'], ['download', 'leads']]) {
    const { code: exitCode, stderr } = await against(code, status, ...args);
    expect(exitCode).toBe(3);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(told);
  }
  const { stdout } = await against(code, status, 'download', 'leads', '--json');
  expect(JSON.parse(stdout)).toEqual({ ok: false, error: expect.stringMatching(told) });
});

test('StorageDenied in a command exits with 3', () => {
  expect(codeOf(new RunError('StorageDenied', 'No.'))).toBe(3);
});
