import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { CANARY, deployment, EXPORT_ID, runState } from '../support/builders.ts';
import { metricsIn } from '../support/emf.ts';
import { type Exchange, serverFor } from '../support/http-server.ts';

/** Abuse case: a person turns on every debug setting in the environment of a function in production. */

const FUNCTION = join(import.meta.dirname, 'fixtures/debugged-function.ts');
/** One secret for each place from which a log could take it. */
const SECRETS = { token: `${CANARY}-token`, input: `${CANARY}-input`, answer: `${CANARY}-answer` };
const DEBUG = {
  LOG_LEVEL: 'DEBUG',
  POWERTOOLS_LOG_LEVEL: 'TRACE',
  POWERTOOLS_LOGGER_LOG_EVENT: 'true',
  POWERTOOLS_LOGGER_SAMPLE_RATE: '1',
  POWERTOOLS_METRICS_DISABLED: 'true',
  POWERTOOLS_SERVICE_NAME: CANARY,
  ENVIRONMENT: CANARY,
};
const LISTED = ['level', 'message', 'timestamp', 'step', 'entity', 'execution', 'exportId', 'outcome', 'error'];
const COUNTED = ['waitSeconds', 'milliseconds', 'crmRequests', 'fileRequests', 'storeRequests', 'method', 'path'];
const OTHERS = ['status', 'crash', 'frames', 'requestId', '_aws', 'RunsEnded'];

/** Two invocations: one that reads a status, one that ends the run, and a third that crashes on its event. */
async function invoked(environment: Record<string, string>) {
  const path = `GET /leads/exports/${EXPORT_ID}`;
  const exchanges: Exchange[] = [
    [path, { json: { status: 'PROCESSING', id: EXPORT_ID, owner: SECRETS.answer } }],
    [path, { json: { status: 'FAILED', id: EXPORT_ID, reason: SECRETS.answer } }],
  ];
  const { url, seen } = await serverFor(...exchanges);
  const state = { ...runState(), input: { entity: 'leads', Comment: SECRETS.input } };
  const job = {
    baseUrl: url,
    accessToken: SECRETS.token,
    deployment: deployment(),
    states: [state, state, SECRETS.input],
  };
  const env = { DEPLOYMENT: 'prod', JOB: JSON.stringify(job), ...environment };
  const child = spawn(process.execPath, [FUNCTION], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(seen.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill(`Bearer ${SECRETS.token}`));
  return { out, err };
}

test('at log level DEBUG, no log line has more fields than at INFO, or contains a secret', async () => {
  const { out, err } = await invoked(DEBUG);

  expect(`${out}${err}`).not.toContain(CANARY);
  const lines = `${out}${err}`
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.filter(({ message }) => message === 'answered')).toHaveLength(2);
  expect(lines.filter(({ message }) => message === 'crashed')).toHaveLength(1);
  expect(new Set(lines.map(({ message }) => message))).toEqual(new Set(['called', 'answered', 'crashed', undefined]));
  const allowed = [...LISTED, ...COUNTED, ...OTHERS];
  for (const line of lines) expect(allowed).toEqual(expect.arrayContaining(Object.keys(line)));
  // The alarms still work.
  expect(metricsIn(lines.find((line) => '_aws' in line)).map(({ name }) => name)).toContain('RunsEnded');
});

test('in the development mode of the logger, no secret is logged and the metrics are still written', async () => {
  const { out, err } = await invoked({ ...DEBUG, POWERTOOLS_DEV: 'true' });

  expect(`${out}${err}`).not.toContain(CANARY);
  const [metrics = ''] = out.match(/^.*"_aws".*$/m) ?? [];
  expect(metricsIn(JSON.parse(metrics)).map(({ name }) => name)).toContain('RunsEnded');
});
