import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { startMinistack } from '../../local/ministack/ministack.ts';
import { freePort } from '../../local/ministack/ports.ts';
import { ensureMinistack } from '../../local/ministack/python.ts';
import { openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { endAll, type Running, run, type Traces, tracesOf } from '../local/support/running.ts';
import { CACHE } from '../local/support/support.ts';

const START = 'local/start.ts';
const CLI = 'cli/main.ts';
const word = z.string().min(1);
const publishedSchema = z.strictObject({
  entity: word,
  executionArn: z.string().startsWith('arn:aws:states:us-east-1:000000000000:execution:crm-export-local-ExportRun:'),
  status: z.literal('SUCCEEDED'),
  error: z.null(),
  cause: z.null(),
  exportId: z.guid(),
  key: z.string().startsWith('runs/entity='),
  manifestKey: z.string().endsWith('/_manifest.json'),
  bytes: z.int().positive(),
  rows: z.int().positive(),
  warningCount: z.literal(0),
  checks: z.int().positive(),
  seconds: z.number().positive(),
});
const documentSchema = z.strictObject({ ok: z.literal(true), runs: z.array(publishedSchema) });
const keptSchema = documentSchema.extend({ endpoints: z.strictObject({ aws: z.url(), crm: z.url(), auth: z.url() }) });
const refusedSchema = z.strictObject({ ok: z.literal(false), runs: z.tuple([]), error: word });

/** A start that was killed in the middle of its deployment, and the one after it. */
let killed: Traces;
let leftByKill: number[];
let next: Running;

beforeAll(async () => {
  const first = run(START, ['--entity', 'leads']);
  killed = await tracesOf(first);
  await first.says(/✓ MiniStack/);
  first.child.kill('SIGKILL');
  await first.ended;
  leftByKill = killed.processes();
  // Whatever the person's shell says about AWS must make no difference.
  next = run(START, ['--json', '--entity', 'leads', '--poll-seconds', '1'], {
    AWS_REGION: 'eu-west-1',
    AWS_PROFILE: 'nobody',
    AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'wrong',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  });
  // The others begin after it: each start ends what a killed one left.
  await next.says(/Ended what an earlier start left running: .+/);
});

afterAll(endAll);

test.concurrent('after kill -9 the next start ends what is left, works, and prints one document', async () => {
  expect(leftByKill.length).toBeGreaterThan(0);
  const traces = await tracesOf(next);
  expect(await next.ended, next.stderr()).toBe(0);
  expect(next.stderr()).toMatch(/^Ended what an earlier start left running: .*MiniStack/);
  expect(killed.processes()).toEqual([]);
  expect(killed.files()).toEqual([]);
  expect(next.stdout().trimEnd().split('\n')).toHaveLength(1);
  const document = documentSchema.parse(JSON.parse(next.stdout()));
  expect(document.runs.map(({ entity }) => entity)).toEqual(['leads']);
  expect(next.stderr()).toMatch(/✓ cdk bootstrap.*✓ cdk deploy.*✓ Authorization.*leads +published.*\n {2}id,/s);
  expect(traces.processes()).toEqual([]);
  expect(traces.files()).toEqual([]);
});

test.concurrent('--keep prints its document before it waits, can be used, and ends on Ctrl-C', async () => {
  const kept = run(START, ['--keep', '--json', '--entity', 'leads', '--poll-seconds', '1']);
  const traces = await tracesOf(kept);
  await kept.says(/Everything is left running; Ctrl-C ends it\..*aws s3 ls/s);
  const { endpoints } = keptSchema.parse(JSON.parse(kept.stdout()));
  expect((await fetch(`${endpoints.aws}/_ministack/health`)).status).toBe(200);
  expect((await fetch(`${endpoints.crm}/leads/fields`)).status).toBe(401);
  expect((await fetch(`${endpoints.auth}/authorize`)).status).toBe(400);

  const place = ['--deployment', 'local', '--region', 'us-east-1'];
  place.push('--endpoint-url', endpoints.aws.replace('127.0.0.1', 'localhost'));
  const authorize = run(CLI, ['authorize', '--json', ...place]);
  const [, url = ''] = await authorize.says(/^Open: (http\S+)$/m);
  expect(await approveConsent(url)).toMatch(/^200 .*Authorized/s);
  expect(await authorize.ended, authorize.stderr()).toBe(0);
  expect(JSON.parse(authorize.stdout())).toMatchObject({
    ok: true,
    scope: 'openid profile global:export customers:update',
    notes: [],
  });

  const doctor = run(CLI, ['doctor', ...place]);
  expect(await doctor.ended, doctor.stderr()).toBe(0);
  expect(doctor.stdout()).toMatch(/\nA nightly run would work\.\n$/);

  const started = run(CLI, ['start', 'contacts', '--wait', ...place]);
  expect(await started.ended, started.stderr()).toBe(0);
  expect(started.stdout()).toMatch(
    /^arn:aws:states:.*\n( *contacts: .*\n)+contacts: published, 240 rows, \d+ bytes, runs\//,
  );

  expect(traces.processes().length).toBeGreaterThan(0);
  // Twice, for npm passes on what the terminal has sent to both already.
  kept.child.kill('SIGINT');
  kept.child.kill('SIGINT');
  expect(await kept.ended, kept.stderr()).toBe(0);
  expect(() => JSON.parse(kept.stdout())).not.toThrow();
  expect(traces.processes()).toEqual([]);
  expect(traces.files()).toEqual([]);
  await expect(fetch(endpoints.aws)).rejects.toThrow();
});

test.concurrent('Ctrl-C during the deployment ends it with code 130 and leaves nothing', async () => {
  const start = run(START, ['--json', '--entity', 'leads']);
  const traces = await tracesOf(start);
  await start.says(/✓ cdk bootstrap/);
  start.child.kill('SIGINT');
  expect(await start.ended, start.stderr()).toBe(130);
  expect(refusedSchema.parse(JSON.parse(start.stdout())).error).toBe('interrupted by SIGINT');
  expect(start.stderr()).toMatch(/✗ cdk deploy .*\nInterrupted: everything that was started is ended\.\n$/);
  expect(traces.processes()).toEqual([]);
  expect(traces.files()).toEqual([]);
});

/** A local cloud that this test runs, beside whatever the starts run. */
async function ownCloud(record: RunRecord): Promise<string> {
  const command = await ensureMinistack({ record });
  return (await startMinistack({ ...command, record, nodeBin: dirname(process.execPath) })).endpoint;
}

const otherCrm = ({ baseUrl, authUrl, clientId }: Sandbox) => [
  ...['--crm-url', baseUrl, '--auth-url', authUrl, '--client-id', clientId],
];

test.concurrent('with another CRM and another cloud one run is published, one fails, both are reported, and --keep stays up', async ({
  onTestFinished,
}) => {
  const record = await openRunRecord(CACHE);
  onTestFinished(() => record.close());
  const sandbox = await startSandbox({ clientId: 'someone', clientSecret: 'a%:secret', rows: 3, jobChecks: 1 });
  onTestFinished(sandbox.close);
  sandbox.faults.add({ path: 'status', entity: 'contacts', status: 'FAILED' });
  const cloud = ['--endpoint-url', (await ownCloud(record)).replace('127.0.0.1', 'localhost')];
  const wanted = ['--entity', 'leads', '--entity', 'contacts', '--poll-seconds', '1'];
  const start = run(START, ['--json', '--keep', ...otherCrm(sandbox), ...cloud, ...wanted], {
    CRM_CLIENT_SECRET: 'a%:secret',
  });
  const traces = await tracesOf(start);

  const [, url = ''] = await start.says(/^Open: (http\S+)$/m);
  expect(await approveConsent(url)).toMatch(/^200 /);
  // Nothing but the wait for Ctrl-C keeps this process alive.
  await start.says(/Everything is left running; Ctrl-C ends it\./);
  await Promise.race([start.ended, sleep(1000)]);
  expect(start.child.exitCode, start.stderr()).toBeNull();
  start.child.kill('SIGINT');
  expect(await start.ended, start.stderr()).toBe(1);
  const document = z.object({ ok: z.literal(false), runs: z.array(z.unknown()) }).parse(JSON.parse(start.stdout()));
  expect(publishedSchema.parse(document.runs[0])).toMatchObject({ entity: 'leads', rows: 3 });
  expect(document.runs[1]).toMatchObject({
    ...{ entity: 'contacts', status: 'FAILED', error: 'ExportFailed', manifestKey: null, rows: null },
    cause: expect.stringMatching(/export .*[0-9a-f-]{36}.*\. Start the run again/),
  });
  expect(start.stderr()).toMatch(/^ {2}leads +published +\d+ +3 /m);
  expect(start.stderr()).toMatch(/^ {2}contacts +ExportFailed /m);
  expect(start.stderr()).toMatch(/^contacts: ExportFailed: .* Start the run again/m);
  expect(start.stderr()).not.toMatch(/MiniStack|Sandbox/);
  expect(start.stderr() + start.stdout()).not.toContain('a%:secret');
  expect(traces.processes()).toEqual([]);
  expect(traces.files()).toEqual([]);
});

const other = ['--crm-url', 'http://127.0.0.1:9/api/v1', '--auth-url', 'http://127.0.0.1:9/auth', '--client-id', 'x'];
const dead: [string, number, string[], NodeJS.ProcessEnv, RegExp][] = [
  ['an unknown entity', 2, ['--entity', 'leeds'], {}, /There is no entity "leeds" \(did you mean "leads"\?\)/],
  ['an unknown option', 2, ['--kepe'], {}, /unknown option '--kepe'/],
  ['half a CRM', 2, other, { CRM_CLIENT_SECRET: undefined }, /the environment variable CRM_CLIENT_SECRET is missing/],
  ['a cloud elsewhere', 2, ['--endpoint-url', 'https://aws.example'], {}, /A local cloud is at a loopback address/],
  ['no cloud at the address', 3, ['--endpoint-url', 'http://127.0.0.1:PORT'], {}, /^Nothing answers at .*: start the/m],
  ['a CRM that is down', 3, other, { CRM_CLIENT_SECRET: 'x' }, /^The CRM does not answer at .*\/api\/v1\. Check /m],
  ['no Python', 3, [], { PYTHON: '/nonexistent' }, /^The variable PYTHON names \/nonexistent, which does not run/m],
];

test.concurrent.for(dead)('%s ends in one sentence and exit code %i', async ([, code, args, env, sentence]) => {
  const port = String(await freePort());
  const start = run(START, ['--json', ...args.map((arg) => arg.replace('PORT', port))], env);
  expect(await start.ended, start.stderr()).toBe(code);
  expect(start.stderr()).toMatch(sentence);
  expect(start.stderr()).not.toMatch(/^ +at /m);
  expect(refusedSchema.parse(JSON.parse(start.stdout())).error).toMatch(sentence);
});

test.concurrent('an address of the CRM that the configuration refuses is a matter of usage', async ({
  onTestFinished,
}) => {
  const sandbox = await startSandbox();
  onTestFinished(sandbox.close);
  const crm = ['--crm-url', `${sandbox.baseUrl}?x=1`, '--auth-url', sandbox.authUrl, '--client-id', 'x'];
  const start = run(START, [...crm, '--entity', 'leads'], { CRM_CLIENT_SECRET: 'x' });
  expect(await start.ended, start.stdout()).toBe(2);
  expect(start.stdout()).toMatch(/crm\.baseUrl: must have no query, no fragment and no user name/);
  expect(start.stderr()).toBe('');
});
