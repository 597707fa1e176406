import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../../lib/support/files.ts';

/** Loading CDK takes seconds. `test/lib/file-modes.slow.test.ts` covers the named deployment. */
test('the app exits with code 2 and one line per mistake, with the file and the field', () => {
  const content = JSON.stringify({ crm: { authUrl: 'https://auth.test' }, retention: 3 });
  const file = join(tree({ 'given.json': content }), 'given.json');

  // The CDK CLI runs the app like this.
  const context = JSON.stringify({ deployment: 'given', configuration: file });
  const env = { ...process.env, CDK_CONTEXT_JSON: context, CDK_OUTDIR: tree({}) };
  const { status, stderr, stdout } = spawnSync(process.execPath, ['bin/app.ts'], { env, encoding: 'utf8' });

  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^ConfigInvalid: .*\/given\.json: crm\.baseUrl: /),
    expect.stringMatching(/^ConfigInvalid: .*\/given\.json: retention: .*"retentionDays"/),
  ]);
});
