import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../../lib/support/files.ts';

/** Loading CDK takes seconds. `test/lib/file-modes.slow.test.ts` covers the named deployment. */
test('the app exits with code 2 and one line per mistake, with the file and the field', async () => {
  const content = JSON.stringify({ crm: { authUrl: 'https://auth.test' }, retention: 3 });
  const file = join(tree({ 'given.json': content }), 'given.json');

  const { code, stderr, stdout } = await app({ deployment: 'given', configuration: file });

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^ConfigInvalid: .*\/given\.json: crm\.baseUrl: /),
    expect.stringMatching(/^ConfigInvalid: .*\/given\.json: retention: .*"retentionDays"/),
  ]);
});

/** Runs bin/app.ts as the CDK CLI does. */
function app(context: Record<string, unknown>): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: tree({}) };
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/app.ts'], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}
