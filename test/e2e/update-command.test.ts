import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { idAt } from '../../sandbox/data/records.ts';
import { endAll, run } from '../local/running.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';

const RECORDS = 1000;
let system: Deployed;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'update-command-'));
  system = await deployForTests(
    { customerUpdates: true, updates: { concurrency: 4, maxRate: 1000 } },
    { rows: { customers: RECORDS } },
  );
});

afterAll(async () => {
  await endAll();
  await system?.close();
  await rm(dir, { recursive: true, force: true });
});

beforeEach(() => {
  system.sandbox.faults.clear();
  system.sandbox.ledger.clear();
});

async function cli(...args: string[]) {
  const place = ['--deployment', 'e2e', '--region', 'us-east-1', '--endpoint-url', system.cloud.endpoint];
  const command = run('cli/main.ts', [...args, ...place], { AWS_ENDPOINT_URL: undefined, NO_COLOR: '1' });
  return { code: await command.ended, stdout: command.stdout(), stderr: command.stderr() };
}

async function csvOf(name: string, records: number): Promise<string> {
  const lines = Array.from({ length: records }, (_, n) => `${idAt('customers', n)},Haifa ${n},"one\ntwo",\\N\n`);
  await writeFile(join(dir, name), `id,city,notes,email\n${lines.join('')}`);
  return join(dir, name);
}

/** How often the service applied a change to each customer. */
function applied(): Map<string, number> {
  const calls = system.sandbox.ledger.calls({ kind: 'update' }).filter((call) => call.applied);
  const times = new Map<string, number>();
  for (const { customerId = '' } of calls) times.set(customerId, (times.get(customerId) ?? 0) + 1);
  return times;
}

it('applies a CSV file of 1,000 customers, each once, and says so', async () => {
  const { code, stdout, stderr } = await cli('update', await csvOf('all.csv', RECORDS), '--yes', '--json');
  expect(code, stderr).toBe(0);
  const report = JSON.parse(stdout);
  expect(report).toEqual({
    ...{ ok: true, batch: expect.stringMatching(/^update-/) },
    counts: { APPLIED: RECORDS, REJECTED: 0, FAILED: 0, UNKNOWN: 0, NOT_SENT: 0 },
    ...{ resultKey: `updates/${report.batch}/result.jsonl`, manifestKey: `updates/${report.batch}/_manifest.json` },
  });
  expect(stderr).toMatch(/1,000 of 1,000 lines \(100 %\), \S+ a second\n$/);
  expect(applied().size).toBe(RECORDS);
  expect(new Set(applied().values())).toEqual(new Set([1]));
});

it('sends nothing of a file with one wrong line', async () => {
  const file = join(dir, 'wrong.jsonl');
  await writeFile(file, `{"id":"${idAt('customers', 1)}","city":"Haifa"}\n{"id":"7","city":"Haifa"}\n`);
  expect(await cli('update', file, '--yes')).toMatchObject({ code: 2, stdout: '' });
  expect(applied().size).toBe(0);
});

it('stops at its threshold, is resumed with what was left, and hands out what has to be corrected', async () => {
  const refused = Array.from({ length: 20 }, (_, n) => 10 * n + 5);
  system.sandbox.faults.add({ path: 'update', calls: refused, answer: { status: 404 } });
  const stopped = await cli('update', await csvOf('part.csv', 400), '--yes', '--json', '--stop-after-failures', '5');
  const first = JSON.parse(stopped.stdout);
  expect(stopped.code).toBe(1);
  expect(stopped.stderr).toMatch(/UpdatesIncomplete: Of 400 lines \d+ were applied; .*stopped by UpdateStopped/);
  expect(first.ok).toBe(false);
  expect(first.counts.REJECTED).toBeGreaterThanOrEqual(5);
  expect(first.counts.NOT_SENT).toBeGreaterThan(200);

  system.sandbox.faults.clear();
  const resumed = await cli('update', '--resume', first.batch, '--yes', '--json');
  expect(resumed.code, resumed.stderr).toBe(0);
  const second = JSON.parse(resumed.stdout);
  expect(second.counts.APPLIED).toBe(first.counts.NOT_SENT);
  expect(applied().size).toBe(400 - first.counts.REJECTED);
  expect(new Set(applied().values())).toEqual(new Set([1]));

  const file = join(dir, 'failed.jsonl');
  const shown = await cli('update-status', first.batch, '--failed-to', file);
  expect(shown.code, shown.stderr).toBe(0);
  expect(shown.stdout).toMatch(/UpdatesIncomplete: .*REJECTED +CrmRejectedRequest +404/s);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines).toHaveLength(first.counts.REJECTED + first.counts.NOT_SENT);
  expect((await cli('update', file, '--dry-run')).code).toBe(0);

  const { batches } = JSON.parse((await cli('update-status', '--json')).stdout);
  expect(batches.slice(0, 2)).toMatchObject([
    { batch: second.batch, status: 'SUCCEEDED', error: null, records: first.counts.NOT_SENT, counts: second.counts },
    { batch: first.batch, status: 'FAILED', error: 'UpdatesIncomplete', records: 400, counts: first.counts },
  ]);
});
