import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import * as z from 'zod';
import { cdkDeploy, cdkDestroy, synthesise } from '../../local/cdk.ts';
import { openRunRecord } from '../../local/processes/run-record.ts';
import { CACHE, invoke, PROJECT } from '../local/support/support.ts';

const APP = join(import.meta.dirname, '../local/fixtures/tiny-app.ts');
const answer = z.object({ node: z.string(), word: z.string(), main: z.string() });

test('the CDK CLI and MiniStack deploy a stack whose function runs on Node 24, and destroy it', async ({
  onTestFinished,
}) => {
  const cloud = inject('cloud');
  const record = await openRunRecord(CACHE);
  onTestFinished(() => record.close());
  const lines: string[] = [];
  const outputDir = join(record.workDir, 'cdk.out');
  const common = { record, env: cloud.env, logFile: join(record.workDir, 'cdk.log'), outputDir };

  await synthesise({ ...common, app: APP, context: { word: 'hello' } });
  const outputs = await cdkDeploy({ ...common, onLine: (line) => lines.push(line) });

  expect(outputs.QueueUrl).toContain('Tiny-Queue');
  expect(lines.some((line) => line.includes('CREATE_COMPLETE'))).toBe(true);
  const said = answer.parse(await invoke(cloud, outputs.EchoName ?? ''));
  expect(said).toMatchObject({ node: expect.stringMatching(/^v24\./), word: 'hello' });
  // The function cannot reach the project's folder.
  expect(said.main).not.toContain(PROJECT);

  await cdkDestroy(common);
  expect(await invoke(cloud, outputs.EchoName ?? '')).not.toHaveProperty('node');
});
