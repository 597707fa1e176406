import { PutTraceSegmentsCommand, XRayClient } from '@aws-sdk/client-xray';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checked } from '../../cli/checks/check.ts';
import type { Target } from '../../cli/support/target.ts';
import type { Made, Runs } from '../../cli/verify/base/runs.ts';
import type { Verifying } from '../../cli/verify/base/verifying.ts';
import { TRACE_CHECK } from '../../cli/verify/checks/trace-check.ts';
import { STEPS } from '../../core/step/steps.ts';
import { startMoto } from './support/moto.ts';

/** What `verify` reads of services that MiniStack does not have. */

let moto: Awaited<ReturnType<typeof startMoto>>;
let xray: XRayClient;

beforeAll(async () => {
  moto = await startMoto();
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  xray = new XRayClient({ endpoint: moto.endpoint, region: 'us-east-1', credentials });
});
afterAll(() => moto?.close());

/** A trace with a segment for each name, as the services of AWS send them. */
async function traceOf(traceId: string, names: string[]) {
  const at = Date.now() / 1000;
  const documents = names.map((name, index) =>
    JSON.stringify({ trace_id: traceId, id: `000000000000000${index}`, name, start_time: at, end_time: at + 1 }),
  );
  await xray.send(new PutTraceSegmentsCommand({ TraceSegmentDocuments: documents }));
}

async function look(traceId: string) {
  const run = { traceId, steps: Object.keys(STEPS) } as Made & { key: string; manifestKey: string };
  // The check asks for the published run alone; moto runs none.
  const runs = { published: async () => run } as unknown as Runs;
  const target = { xray, stack: 'crm-export-prod' } as Target;
  const { signal } = new AbortController();
  const pace = { everyMs: 10, patienceMs: 0, runMs: 0 };
  const [found] = await checked(TRACE_CHECK, { target, runs, pace, signal } as Verifying, { deployment: 'prod' });
  return found;
}

const NAMES = ['ExportRun', ...Object.keys(STEPS)].map((id) => `crm-export-prod-${id}`);

test('the trace of a run holds where the machine and every function are in it', async () => {
  const traceId = '1-6b033cb7-84c23bf43c71173aefedd288';
  await traceOf(traceId, NAMES);

  expect(await look(traceId)).toMatchObject({
    verdict: 'holds',
    found: `the trace ${traceId} has the machine and ${NAMES.length - 1} functions`,
  });
});

test('a trace that lacks a function, and one that is not there, do not hold', async () => {
  const traceId = '1-6b033cb8-84c23bf43c71173aefedd288';
  await traceOf(traceId, NAMES.slice(0, -1));

  expect(await look(traceId)).toMatchObject({
    verdict: 'broken',
    found: expect.stringMatching(/ lacks crm-export-prod-WriteChanges$/),
  });
  expect(await look('1-6b033cb9-84c23bf43c71173aefedd288')).toMatchObject({
    verdict: 'broken',
    found: expect.stringContaining('lacks crm-export-prod-ExportRun, '),
  });
});
