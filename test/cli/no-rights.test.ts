import { expect, test } from 'vitest';
import { fault, refused } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { type Execution, executions } from './support/cloud/executions.ts';
import { type Configuration, configured } from './support/cloud/stack.ts';
import { stored } from './support/leads-night.ts';

/** Each command without one of the rights that it uses. */

const NIGHT = 'leads-night';
const times = { start: '2026-11-20T01:00:00.000Z', stop: '2026-11-20T01:05:00.000Z' };
const failed: Execution = {
  ...{ name: NIGHT, status: 'FAILED', input: { entity: 'leads' }, error: 'FileQuarantined', cause: 'It shrank.' },
  ...{ ...times, entered: [['PublishFile', times.stop, stored]] },
};
const running: Execution = {
  name: 'contacts-now',
  status: 'RUNNING',
  input: { entity: 'contacts' },
  start: times.stop,
};
const guards = {
  checks: [{ guard: 'maxShrink', passed: false, measured: 0.99, bound: 0.5, detail: null }],
  ...{ comparedWith: [], medianRows: 100 },
};
const CONFIGURATION: Configuration = { entities: { leads: { tables: {} } } };

/** A deployment with a published file, a quarantined one and a run under way. */
async function deployed(...parts: Parameters<typeof aws>) {
  const more = { DisableRule: {}, EnableRule: {}, StopExecution: {} };
  const cloud = await aws(...parts, more, configured(CONFIGURATION), executions([running, failed]));
  cloud.publish({ date: '2026-11-19', execution: 'leads-before' });
  cloud.publish({ manifest: { state: 'quarantined', guards }, pointers: [] });
  return cloud;
}

/** What names a right, where it is not the name of the operation. */
const NAMES: Record<string, string> = {
  ...{ ListObjectsV2: 's3:ListBucket', HeadObject: 's3:GetObject' },
  ...{ GetSecretValue: 'no permission to read the secret', GetItem: 'no permission to read the ledger' },
};

test.each([
  [['status']],
  [['report', '-o', '-']],
  [['list']],
  [['list', '--running']],
  [['show', NIGHT]],
  [['follow', NIGHT]],
  [['logs', NIGHT]],
  [['start', 'leads']],
  [['retry', NIGHT]],
  [['backfill', 'leads', '--from', '2026-11-18', '--to', '2026-11-19', '--same-data', '--dry-run']],
  [['release', NIGHT, '--reason', 'Holidays']],
  [['stop', 'contacts', '--yes']],
  [['pause', 'leads']],
  [['resume', 'leads']],
  [['plan', 'leads']],
  [['download', 'leads', '-o', '-']],
  [['download', '--all', '--date', '2026-11-19', '-o', '/nonexistent']],
  [['peek', 'leads']],
  [['diff', 'leads', '--run', NIGHT]],
  [['table', 'leads']],
])('%j names the right that is missing', async (args) => {
  const { cli, calls } = await deployed();
  await cli(...args);
  const operations = new Map(calls.map(({ operation, service }) => [operation, service]));
  const unnamed: [string, string][] = [];
  for (const [operation, service] of operations) {
    const [code, status] =
      service === 's3' ? (['AccessDenied', 403] as const) : (['AccessDeniedException', 400] as const);
    const refusal = refused(code, 'Access Denied', { status });
    const { shown } = await (await deployed(fault(operation, refusal))).cli(...args);
    if (!shown.includes(NAMES[operation] ?? `:${operation}`)) unnamed.push([operation, shown.slice(0, 200)]);
  }
  expect(unnamed).toEqual(args[0] === 'follow' ? [['GetObject', expect.stringContaining('FileQuarantined')]] : []);
});
