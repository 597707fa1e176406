import { expect, test } from 'vitest';
import { adoptableRun } from '../../cli/runs/retry-run.ts';
import { parseState } from '../../cli/runs/run.ts';
import { createCrmClient } from '../../core/crm/crm-client.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { StepName } from '../../core/step/steps.ts';
import { sandboxFor } from '../sandbox/client.ts';
import { deployment } from '../support/builders.ts';
import { recordingLog } from '../support/deps.ts';
import { tableOf } from '../support/export-records.ts';
import { fakeBucket } from '../support/fake-bucket.ts';
import { fakeTransfer } from '../support/fake-transfer.ts';
import { exportRun } from './support/definition.ts';
import { execute, type Invoke } from './support/interpreter.ts';
import { realSteps } from './support/steps.ts';

const definition = exportRun();
const CSV = Buffer.from('id,firstName\n1,a\n');
const configured = deployment({ entities: { leads: { columns: ['id', 'firstName'] } } });

/** The machine with its real steps and its own sandbox, which counts calls. */
async function place() {
  const sandbox = await sandboxFor({ jobChecks: 2 });
  const { accessToken } = sandbox.issueTokens();
  const getAccessToken = async () => ({ accessToken, scope: 'global:export' });
  const now = () => new Date();
  const crm = createCrmClient({ baseUrl: sandbox.baseUrl, getAccessToken, log: recordingLog(), now });
  const bucket = fakeBucket();
  const transfer: ReturnType<typeof fakeTransfer> = async (options) => {
    const stored = await fakeTransfer(CSV)(options);
    if (stored) bucket.put(stored.key, CSV);
    return stored;
  };
  const steps = realSteps({ crm, bucket, transfer, table: tableOf() }, configured);
  const requested = () => sandbox.ledger.count({ kind: 'create' });
  const manifestOf = (run: string): Manifest =>
    JSON.parse(bucket.text(`runs/entity=leads/run=${run}/_manifest.json`) ?? 'null');
  return { steps, requested, manifestOf };
}

/** A kill during an invocation: before its work, or after it with a lost answer. */
interface Kill {
  step: StepName;
  nth: number;
  when: 'before' | 'after';
  /** The run whose export the retry adopts; default: the killed one. */
  adopted?: null;
}

/** Starts a run that is killed. @returns the run that a retry adopts, according to the state of the run */
async function killed(steps: Invoke, kill: Omit<Kill, 'adopted'>): Promise<string | undefined> {
  let invocations = 0;
  let last: unknown;
  const invoke: Invoke = async (step, payload, clock) => {
    last = payload;
    const now = step === kill.step && ++invocations === kill.nth;
    if (now && kill.when === 'before') throw new Error('killed');
    const answer = await steps(step, payload, clock);
    if (now) throw new Error('killed');
    return answer;
  };
  const name = 'run-1';
  const run = await execute(definition, invoke, { name, input: { entity: 'leads' } });
  expect(run).toMatchObject({ status: 'FAILED', error: 'StepCrashed' });
  const state = parseState(JSON.stringify(last));
  return adoptableRun({ name, status: run.status, error: run.error ?? null }, { name: 'StepCrashed', state });
}

const retried = (steps: Invoke, adopt: string | undefined) =>
  execute(definition, steps, {
    name: 'run-2',
    input: { entity: 'leads', date: '2026-01-01', ...(adopt && { adopt }) },
  });

test.each<Kill>([
  { step: 'CreateExport', nth: 1, when: 'before', adopted: null },
  { step: 'CreateExport', nth: 1, when: 'after' },
  { step: 'CheckStatus', nth: 1, when: 'before' },
  { step: 'CheckStatus', nth: 1, when: 'after' },
  { step: 'CheckStatus', nth: 2, when: 'after' },
  { step: 'DownloadFile', nth: 1, when: 'before' },
  { step: 'DownloadFile', nth: 1, when: 'after' },
  { step: 'PublishFile', nth: 1, when: 'before' },
  { step: 'PublishFile', nth: 1, when: 'after' },
])(
  'a run killed $when the work of $step (invocation $nth) and its retry request one export in total',
  async ({ adopted = 'run-1', ...kill }) => {
    const { steps, requested, manifestOf } = await place();

    const adopt = await killed(steps, kill);
    const run = await retried(steps, adopt);

    expect(run).toMatchObject({ status: 'SUCCEEDED' });
    expect(requested()).toBe(1);
    expect(manifestOf('run-2')).toMatchObject({ run: { date: '2026-01-01', adopted } });
  },
);
