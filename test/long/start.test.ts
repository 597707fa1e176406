import { dirname } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';
import { startMinistack } from '../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../local/ministack/python.ts';
import { openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { publishedSchema, refusedSchema, START } from '../e2e/support/start-documents.ts';
import { CACHE } from '../support/project.ts';
import { endAll, run, tracesOf } from '../support/running.ts';

/** Tests ways to start and end `npm start`, each with its own deployment. `test/e2e/start.slow.test.ts` has one. */

afterAll(endAll);

test.concurrent('Ctrl-C during the deployment ends with exit code 130 and leaves nothing', async () => {
  const start = run(START, ['--json', '--entity', 'leads']);
  const traces = await tracesOf(start.child);
  await start.says(/✓ Bootstrap stack/);
  start.child.kill('SIGINT');
  expect(await start.ended, start.stderr()).toBe(130);
  expect(refusedSchema.parse(JSON.parse(start.stdout())).error).toMatch(/^Interrupted\. /);
  expect(start.stderr()).toMatch(/✕ cdk deploy .*\nInterrupted\. .*\n$/);
  expect(traces.files()).toEqual([]);
  await traces.ended();
});

test.concurrent('a second night quarantines and releases meetings, shows changes and tables, and then all ends', async () => {
  const entities = ['--entity', 'meetings', '--entity', 'customers'];
  const start = run(START, ['--second-night', '--tables', ...entities, '--poll-seconds', '1']);
  const traces = await tracesOf(start.child);

  expect(await start.ended, start.stderr()).toBe(0);

  expect(start.stdout()).toMatch(/meetings: FileQuarantined: .* it has 40 rows, 240 are usual \(maxShrink 0\.5\)/);
  expect(start.stdout()).toMatch(/^meetings of \S+, release of \S+, 40 rows, .*, the latest/m);
  expect(start.stdout()).toMatch(
    /^customers, feed 2, \S+ to \S+: 1 inserted, 1 deleted, 2 updated \(customers-\S+\)$/m,
  );
  for (const entity of ['meetings', 'customers'])
    expect(start.stdout()).toMatch(
      new RegExp(`${entity} +published .*, tables/entity=${entity}/date=\\S+/${entity}\\.parquet`),
    );
  expect(traces.files()).toEqual([]);
  await traces.ended();
});

/** A local cloud of this test, besides the local clouds of the starts. */
async function ownCloud(record: RunRecord): Promise<string> {
  const command = await ensureMinistack({ record });
  return (await startMinistack({ ...command, record, nodeBin: dirname(process.execPath) })).endpoint;
}

const otherCrm = ({ baseUrl, authUrl, clientId }: Sandbox) => [
  ...['--crm-url', baseUrl, '--auth-url', authUrl, '--client-id', clientId],
];

test.concurrent('--crm-url and --endpoint-url publish one run, report a failed one, and --keep stays up and probes', async ({
  onTestFinished,
}) => {
  const record = await openRunRecord(CACHE);
  onTestFinished(() => record.close());
  const sandbox = await startSandbox({ clientId: 'someone', clientSecret: 'a%:secret', rows: 3, jobChecks: 1 });
  onTestFinished(sandbox.close);
  sandbox.faults.add({ path: 'status', entity: 'contacts', status: 'FAILED' });
  const cloud = ['--endpoint-url', (await ownCloud(record)).replace('127.0.0.1', 'localhost')];
  const wanted = ['--entity', 'leads', '--entity', 'contacts', '--poll-seconds', '1'];
  const crm = [...otherCrm(sandbox), '--redirect-uri', 'http://localhost:0/from/the/crm'];
  const start = run(START, ['--json', '--keep', ...crm, ...cloud, ...wanted], {
    CRM_CLIENT_SECRET: 'a%:secret',
  });
  const traces = await tracesOf(start.child);

  const [, url = ''] = await start.says(/^Open: (http\S+)$/m);
  expect(new URL(url).searchParams.get('redirect_uri')).toMatch(/^http:\/\/localhost:\d{4,}\/from\/the\/crm$/);
  expect(await approveConsent(url)).toMatch(/^200 /);
  // Only the wait for Ctrl-C keeps this process alive.
  await start.says(/Everything keeps running until Ctrl-C\./);
  const [, exported = ''] = await start.says(/^ {2}export (.+)$/m);
  // The printed command probes the CRM, before an AWS account exists.
  await start.says(/^ {2}npx --no -- crm-export probe$/m);
  const environment = Object.fromEntries(exported.split(' ').map((each) => each.split('=')));
  const probe = run('cli/main.js', ['probe'], environment);
  expect(await probe.ended, probe.stderr()).toBe(0);
  expect(probe.stdout()).toMatch(/^ {2}GET \/leads\/fields -> 200 application\/json /m);
  expect(probe.stdout()).toMatch(/^✓ file-format +as assumed: It is csv, utf-8, line breaks \S+\.$/m);
  expect(start.child.exitCode, start.stderr()).toBeNull();
  start.child.kill('SIGINT');
  expect(await start.ended, start.stderr()).toBe(1);
  const document = z.object({ ok: z.literal(false), runs: z.array(z.unknown()) }).parse(JSON.parse(start.stdout()));
  expect(publishedSchema.parse(document.runs[0])).toMatchObject({ entity: 'leads', rows: 3 });
  expect(document.runs[1]).toMatchObject({
    entity: 'contacts',
    status: 'FAILED',
    error: 'ExportFailed',
    manifestKey: null,
    rows: null,
    cause: expect.stringMatching(/export .*[0-9a-f-]{36}/),
  });
  expect(start.stderr()).toMatch(/^ {2}leads +published +\d+ +3 /m);
  expect(start.stderr()).toMatch(/^ {2}contacts +ExportFailed /m);
  expect(start.stderr()).toMatch(/^contacts: ExportFailed: /m);
  expect(start.stderr()).not.toMatch(/MiniStack|Sandbox/);
  expect(start.stderr() + start.stdout()).not.toContain('a%:secret');
  expect(traces.files()).toEqual([]);
  await traces.ended();
});
