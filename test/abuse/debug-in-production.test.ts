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

const linesOf = ({ out, err }: Awaited<ReturnType<typeof invoked>>): Record<string, unknown>[] =>
  `${out}${err}`
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
/** The messages with the fields of their lines. The metrics, which the alarms need, have no message. */
const formOf = (lines: Record<string, unknown>[]) =>
  lines.map((line) => [line.message, ...Object.keys(line)].join(' ')).sort();

test('at log level DEBUG, no log line has more fields than at INFO, or contains a secret', async () => {
  const usual = linesOf(await invoked({}));
  const debugged = linesOf(await invoked(DEBUG));

  expect(JSON.stringify(debugged)).not.toContain(CANARY);
  expect(formOf(debugged)).toEqual(formOf(usual));
  const messages = usual.flatMap(({ message, _aws }) => message ?? (_aws ? 'metrics' : []));
  expect(messages.sort()).toEqual(['answered', 'answered', 'called', 'called', 'crashed', 'metrics']);
});

test('in the development mode of the logger, no secret is logged and the metrics are still written', async () => {
  const { out, err } = await invoked({ ...DEBUG, POWERTOOLS_DEV: 'true' });

  expect(`${out}${err}`).not.toContain(CANARY);
  const [metrics = ''] = out.match(/^.*"_aws".*$/m) ?? [];
  expect(metricsIn(JSON.parse(metrics)).map(({ name }) => name)).toContain('RunsEnded');
});
