import { afterAll, beforeAll, expect, test } from 'vitest';
import { once } from '../../core/step/step.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { endAll, type Running, run, tracesOf } from '../support/running.ts';
import { keptSchema, refusedSchema, START } from './support/start-documents.ts';

/** Tests `npm start`, deployed once. `test/long/start.test.ts` tests other ways to start and end it. */

const CLI = 'cli/main.js';

let kept: Running;

beforeAll(() => {
  // The AWS and proxy settings of the person's shell must have no effect.
  kept = run(START, ['--keep', '--json', '--entity', 'leads', '--poll-seconds', '1'], {
    AWS_REGION: 'eu-west-1',
    AWS_PROFILE: 'nobody',
    AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'wrong',
    AWS_ENDPOINT_URL: DEAD_ADDRESS,
    AWS_USE_FIPS_ENDPOINT: 'true',
    HTTP_PROXY: DEAD_ADDRESS,
    NODE_USE_ENV_PROXY: '1',
  });
});

afterAll(endAll);

/** The document of the start, once its services run. */
const printed = once(async () => {
  await kept.says(/Everything keeps running until Ctrl-C\..*aws s3 ls/s);
  const [document] = await kept.says(/^\{.*\}$/m);
  return keptSchema.parse(JSON.parse(document));
});

test('ends in one sentence with exit code 3 if no cloud answers', async () => {
  const shown = `--import=data:text/javascript,process.on('exit',()=>console.error(process.env.no_proxy))`;
  const start = run(START, ['--json', '--endpoint-url', DEAD_ADDRESS], { no_proxy: '*', NODE_OPTIONS: shown });
  expect(await start.ended, start.stderr()).toBe(3);
  expect(start.stderr()).toMatch(/^\*$/m);
  expect(start.stderr()).toMatch(/^Nothing answers at .*: start the/m);
  expect(start.stderr()).not.toMatch(/^ +at /m);
  expect(refusedSchema.parse(JSON.parse(start.stdout())).error).toMatch(/^Nothing answers at /);
});

test('--keep publishes and prints one document', async () => {
  const document = await printed();
  expect(kept.stdout().trimEnd().split('\n')).toHaveLength(1);
  expect(document.runs.map(({ entity }) => entity)).toEqual(['leads']);
  expect(kept.stderr()).toMatch(
    /✓ Bootstrap stack.*✓ cdk deploy.*✓ Authorization.*leads +published.* peek leads .*\n {2}id /s,
  );
});

test('the services of --keep work and end on Ctrl-C', async () => {
  const { endpoints } = await printed();
  const traces = await tracesOf(kept.child);
  expect((await fetch(`${endpoints.aws}/_ministack/health`)).status).toBe(200);
  expect((await fetch(`${endpoints.crm}/leads/fields`)).status).toBe(401);
  expect((await fetch(`${endpoints.auth}/authorize`)).status).toBe(400);

  const place = ['--deployment', 'local', '--region', 'us-east-1'];
  place.push('--endpoint-url', endpoints.aws.replace('127.0.0.1', 'localhost'));
  const authorize = run(CLI, ['authorize', ...place]);
  const [, url = ''] = await authorize.says(/^Open: (http\S+)$/m);
  expect(await approveConsent(url)).toMatch(/^200 .*Authorized/s);
  expect(await authorize.ended, authorize.stderr()).toBe(0);
  expect(authorize.stdout()).toContain('; scopes: openid profile global:export customers:update; ');
  expect(authorize.stdout()).not.toContain('Note: ');

  const doctor = run(CLI, ['doctor', ...place]);
  expect(await doctor.ended, doctor.stderr()).toBe(0);
  expect(doctor.stdout()).toMatch(/\nNo check .*: see grant-stored\.\n$/);

  const started = run(CLI, ['start', 'contacts', '--wait', ...place]);
  expect(await started.ended, started.stderr()).toBe(0);
  expect(started.stdout()).toMatch(
    /^arn:aws:states:.*\n( *contacts: .*\n)+contacts of \S+, published, 240 rows, \S+ kB, the latest, runs\/\S+ \(\d+ bytes\)/,
  );

  expect(traces.processes().length).toBeGreaterThan(0);
  // Twice, because npm passes on a signal that the terminal has already sent to both.
  kept.child.kill('SIGINT');
  kept.child.kill('SIGINT');
  expect(await kept.ended, kept.stderr()).toBe(0);
  expect(() => JSON.parse(kept.stdout())).not.toThrow();
  expect(traces.files()).toEqual([]);
  await traces.ended();
  await expect(fetch(endpoints.aws)).rejects.toThrow();
});
