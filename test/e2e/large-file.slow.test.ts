import { createHash } from 'node:crypto';
import { StopExecutionCommand } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { startRun } from '../../cli/runs/executions.ts';
import { followRun } from '../../cli/runs/follow.ts';
import type { Run } from '../../cli/runs/run.ts';
import type { Entity } from '../../core/config/entities.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { run } from '../support/running.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { setTimeoutOf } from './support/function-timeout.ts';
import { statesOf } from './support/states-of.ts';

const SECONDS = 1000;
const MIB = 1024 * 1024;
/** An invocation has six seconds, and a part of 8 MiB takes two. Each of the four connections moves one. */
const TIMEOUT_SECONDS = 6;
const BYTES_PER_SECOND = 4 * MIB;
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests(
    'large-file',
    {
      timeZone: 'Asia/Jerusalem',
      polling: { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 },
      files: { connections: { most: 10 } },
    },
    { bytes: { leads: 112 * MIB, customers: 40 * MIB } },
  );
  await setTimeoutOf(system, 'DownloadFile', TIMEOUT_SECONDS);
});

afterAll(() => system?.close());

beforeEach(() => {
  system.sandbox.faults.clear();
  system.sandbox.settings.urlSeconds = 300;
});

async function manifestOf(report: Run) {
  expect(`${report.status} ${report.error} ${report.cause}`).toBe('SUCCEEDED null null');
  return verifyPublished(system.target, report);
}

/** The SHA-256 of the file that the file server gives for a run. */
async function originSha256(entity: Entity, exportId: string | null): Promise<string> {
  const headers = { authorization: `Bearer ${system.sandbox.issueTokens().accessToken}` };
  const link = `${system.sandbox.baseUrl}/${entity}/exports/${exportId}/download`;
  const { url } = z.object({ url: z.string() }).parse(await (await fetch(link, { method: 'POST', headers })).json());
  const hash = createHash('sha256');
  for await (const chunk of (await fetch(url)).body ?? []) hash.update(chunk);
  return hash.digest('hex');
}

it('stores a whole file over many invocations and expired links', async () => {
  const { sandbox, target } = system;
  sandbox.settings.urlSeconds = 1;
  // Every connection breaks before the end of its part, after its link has expired.
  sandbox.faults.add({ path: 'file', entity: 'leads', bytesPerSecond: BYTES_PER_SECOND, hangUp: 7 * MIB });
  const tokensBefore = sandbox.ledger.count({ kind: 'token' });

  const operator = run('cli/main.js', ['start', 'leads', '--wait', ...system.place]);
  expect(await operator.ended, operator.stderr()).toBe(0);
  const report = await followRun(target.sfn, operator.stdout().split('\n')[0] ?? '');
  const manifest = await manifestOf(report);

  const handedOn = (await statesOf(target, report.executionArn ?? '')).filter(
    ({ name }) => name === 'WaitBeforeDownload',
  );
  expect(handedOn.length).toBeGreaterThanOrEqual(2);
  for (const { state } of handedOn) {
    expect(state?.outcome).toBe('CONTINUE');
    expect(state?.moving?.upload?.size).toBe(manifest.file.bytes);
    expect(JSON.stringify(state?.moving).length).toBeLessThan(1024);
  }
  const links = sandbox.ledger.count({ kind: 'download', entity: 'leads' });
  const expired = sandbox.ledger.calls({ kind: 'file', entity: 'leads' }).filter(({ status }) => status === 403);
  expect(expired.length).toBeGreaterThanOrEqual(2);
  // One link for every invocation; the others replace links that expired in the middle.
  expect(links - (handedOn.length + 1)).toBeGreaterThanOrEqual(2);
  // The first run refreshes the grant from a person.
  expect(sandbox.ledger.count({ kind: 'token' })).toBe(tokensBefore + 1);
  expect(sandbox.ledger.violations()).toEqual([]);

  sandbox.faults.clear();
  sandbox.settings.urlSeconds = 300;
  const { sha256, uploads } = bucketTools(target);
  expect(await sha256(manifest.file.key)).toBe(await originSha256('leads', report.exportId));
  expect(manifest).toMatchObject({ file: { restarts: 0 }, warnings: [] });
  expect(manifest.file.rows).toBeGreaterThan(10_000);
  expect(await uploads()).toEqual([]);
});

it('leaves no manifest if the execution is stopped during the download', async () => {
  const { target, sandbox } = system;
  const { keys, uploads } = bucketTools(target);
  sandbox.faults.add({ path: 'file', entity: 'customers', bytesPerSecond: BYTES_PER_SECOND });
  const { executionArn } = await startRun(target, 'customers', {});
  expect(await waitUntil(async () => (await uploads()).length > 0, { withinMs: 30 * SECONDS })).toBe(true);

  await target.sfn.send(new StopExecutionCommand({ executionArn }));

  // The current invocation does not know about the stop and ends by itself. The bucket removes its upload.
  const files = () => sandbox.ledger.calls({ kind: 'file', entity: 'customers' });
  const bytes = () => files().reduce((sum, call) => sum + (call.bytes ?? 0), 0);
  await quiet(bytes);
  expect(await followRun(target.sfn, executionArn)).toMatchObject({
    status: 'ABORTED',
    manifestKey: null,
  });
  expect((await keys('runs/entity=customers/')).filter((key) => key.endsWith('_manifest.json'))).toEqual([]);
  expect(await keys('published/entity=customers/')).toEqual([]);
});

/** Waits until a number has not changed for a second. */
async function quiet(value: () => number): Promise<void> {
  let last = value();
  let since = performance.now();
  const still = () => {
    if (value() !== last) [last, since] = [value(), performance.now()];
    return performance.now() - since > SECONDS;
  };
  expect(await waitUntil(still, { withinMs: 30 * SECONDS, everyMs: 100 })).toBe(true);
}
