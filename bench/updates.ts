import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createScreen } from '../cli/runs/screen.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { startChild } from './support/children.ts';
import type { ProcessCost } from './support/process-cost.ts';
import { atLeast, atMost, printReport, type Target } from './support/report.ts';
import { type ApplyWorld, applyRatio } from './updates/apply.ts';
import { writeFileOf } from './updates/customers.ts';

/**
 * `npm run bench:updates`: what customer updates cost beside the calls themselves, on this machine.
 *
 * apply-N: lines per second of the step ApplyChunk in N processes, against N processes of `curl` that keep their connection
 * and send the same PATCHes to the same sandbox. Our side also reads the input and the stop flag, logs, and stores the
 * results, in a bucket in memory. Not in it: the state machine, cold starts, distances, the rate limit. Each run is done
 * again with answers that take 50 ms, as those of a CRM elsewhere do.
 * validate: files of 1,000 to 1,000,000 lines from the disk, each in a fresh process.
 */

/** Processes, lines of each, and how long the CRM takes for an answer. */
const APPLY: [concurrency: number, records: number, delayMs: number][] = [
  [1, 1000, 0],
  [4, 500, 0],
  [16, 150, 0],
  [1, 60, 50],
  [4, 60, 50],
  [16, 60, 50],
];
const VALIDATE = [1000, 100_000, 1_000_000];
const AIMS = { jsonl: 50, csv: 30 };

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const screen = createScreen(process.stderr);
const dir = await mkdtemp(join(tmpdir(), 'bench-updates-'));
const sandbox = await startSandbox({ rows: { customers: 10_000 } });
const bucket = startChild(childFile('bucket'), {});
const targets: Target[] = [];
const runs: Record<string, string>[] = [];
try {
  for (const format of ['jsonl', 'csv'] as const) await benchValidation(format);
  const world = { sandbox, bucketUrl: String(await bucket.ready), dir };
  for (const [concurrency, records, delayMs] of APPLY) {
    await benchApply(world, concurrency, records, delayMs);
  }
  printReport(values.json, targets, runs);
} finally {
  bucket.child.kill();
  await sandbox.close();
  await rm(dir, { recursive: true, force: true });
}

async function benchApply(world: ApplyWorld, concurrency: number, records: number, delayMs: number): Promise<void> {
  const what = `${concurrency} at once${delayMs ? `, answers take ${delayMs} ms` : ''}`;
  sandbox.faults.clear();
  if (delayMs) sandbox.faults.add({ path: 'update', delaySeconds: delayMs / 1000 });
  const found = await screen.step(`ApplyChunk and curl, ${what}`, () => applyRatio(world, concurrency, records));
  targets.push(atLeast(`apply-${concurrency}${delayMs ? `-${delayMs}ms` : ''}`, 0.8, found.ratio));
  runs.push(row(`ApplyChunk, ${what}`, `${found.rate.toFixed(0)} lines/s`, found.cpuPer1000, ''));
  runs.push(row(`curl, ${what}`, `${found.curlRate.toFixed(0)} lines/s`, undefined, ''));
}

async function benchValidation(format: 'jsonl' | 'csv'): Promise<void> {
  for (const records of VALIDATE) {
    const what = `Validation, ${records.toLocaleString('en')} lines of ${format}`;
    const found = await screen.step(what, () => validationOf(format, records));
    const memory = found.maxRssMegabytes;
    runs.push(row(what, `${found.megabytesPerSecond.toFixed(0)} MB/s`, found.cpuPer1000, `${memory.toFixed(0)} MB`));
    if (records !== VALIDATE.at(-1)) continue;
    targets.push(atLeast(`validate-${format}-mb-per-s`, AIMS[format], found.megabytesPerSecond));
    targets.push(atMost(`validate-${format}-memory-mb`, 200, memory));
  }
}

/** What it takes to validate a file of so many records in a fresh process, as `update` does before it sends. */
async function validationOf(format: 'jsonl' | 'csv', records: number) {
  const file = join(dir, `validate.${format}`);
  await writeFileOf(file, records);
  const { size } = await stat(file);
  const { ready, begin, child } = startChild<ProcessCost>(childFile('validate'), { file });
  try {
    await ready;
    const { seconds, cpuSeconds, maxRss } = await begin();
    return {
      megabytesPerSecond: size / 1e6 / seconds,
      maxRssMegabytes: maxRss / 1e6,
      cpuPer1000: (cpuSeconds * 1000) / records,
    };
  } finally {
    child.kill();
    await rm(file, { force: true });
  }
}

function childFile(name: string): string {
  return join(import.meta.dirname, 'updates', `${name}-child.ts`);
}

function row(what: string, speed: string, cpuPer1000: number | undefined, memory: string) {
  const cpu = cpuPer1000 === undefined ? '' : (cpuPer1000 * 1000).toFixed(cpuPer1000 < 0.1 ? 2 : 0);
  return { what, speed, 'CPU ms per 1,000': cpu, memory };
}
