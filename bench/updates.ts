import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LARGEST_INPUT_BYTES } from '../core/batch/batch-keys.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { gathering } from '../lib/workflow/node-options.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { inChild, startChild } from './support/children.ts';
import { benchmark, type Found } from './support/kit.ts';
import type { ProcessCost } from './support/process-cost.ts';
import { atLeast, atMost } from './support/targets.ts';
import { type ApplyWorld, applyRatio } from './updates/apply.ts';
import { writeFileOf, writeShortest } from './updates/customers.ts';

/**
 * `npm run bench:updates`: what customer updates cost beside the calls themselves, on this machine.
 *
 * apply-N: lines per second of the step ApplyChunk in N processes, against N processes of `curl` that keep their connection
 * and send the same PATCHes to the same sandbox. Our side also reads the input and the stop flag, logs, and stores the
 * results, in a bucket in memory. Not in it: the state machine, cold starts, distances, the rate limit. Each run is done
 * again with answers that take 50 ms, as those of a CRM elsewhere do.
 * validate: files of 1,000 to 1,000,000 lines from the disk, each in a fresh process.
 * shortest: the largest file, of the shortest lines, with the memory and the share of a core that ValidateBatch has.
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
/** A line takes 5 to 8 microseconds of CPU, most of it in its schema; to send it takes a hundred times as many. */
const LEAST_MB_PER_SECOND = { jsonl: 30, csv: 20 };
/** V8 collects late where a machine has memory. */
const MOST_MEGABYTES = 300;
/** What ValidateBatch has: a whole core comes with 1,769 MB (`lib/workflow/customer-updates.ts`). */
const VALIDATING = { megabytes: 512, seconds: 900, share: 512 / WHOLE_CORE_MB };

await benchmark(async ({ quick, dir, experiment }) => {
  const sizes = quick ? VALIDATE.slice(0, 1) : VALIDATE;
  for (const format of ['jsonl', 'csv'] as const) {
    for (const records of sizes) {
      const what = `Validation, ${records.toLocaleString('en')} lines of ${format}`;
      await experiment(['validate'], what, () => validation(what, dir, format, records));
    }
  }
  const largest = quick ? LARGEST_INPUT_BYTES / 256 : LARGEST_INPUT_BYTES;
  await experiment(['shortest'], 'Validation of the shortest lines', () => shortestLines(dir, largest));

  const sandbox = await startSandbox({ rows: { customers: 10_000 } });
  const bucket = startChild(childFile('bucket'), {});
  const world = { sandbox, bucketUrl: String(await bucket.ready), dir };
  const loads = quick ? APPLY.filter(([concurrency]) => concurrency === 1) : APPLY;
  for (const [concurrency, records, delayMs] of loads) {
    const what = `${concurrency} at once${delayMs ? `, answers take ${delayMs} ms` : ''}`;
    const load = { concurrency, records: quick ? records / 10 : records, delayMs, rounds: quick ? 1 : 3 };
    await experiment(['apply'], `ApplyChunk and curl, ${what}`, () => apply(world, what, load));
  }
  bucket.child.kill();
  await sandbox.close();
});

type Load = { concurrency: number; records: number; delayMs: number; rounds: number };

async function apply(world: ApplyWorld, what: string, load: Load): Promise<Found> {
  const { concurrency, records, delayMs, rounds } = load;
  world.sandbox.faults.clear();
  if (delayMs) world.sandbox.faults.add({ path: 'update', delaySeconds: delayMs / 1000 });
  const found = await applyRatio(world, concurrency, records, rounds);
  return {
    targets: [atLeast(`apply-${concurrency}${delayMs ? `-${delayMs}ms` : ''}`, 0.8, found.ratio)],
    runs: [
      row(`ApplyChunk, ${what}`, `${found.rate.toFixed(0)} lines/s`, found.cpuPer1000, ''),
      row(`curl, ${what}`, `${found.curlRate.toFixed(0)} lines/s`, undefined, ''),
    ],
  };
}

/** What it takes to validate a file of so many records in a fresh process, as `update` does before it sends. */
async function validation(what: string, dir: string, format: 'jsonl' | 'csv', records: number): Promise<Found> {
  const file = join(dir, `validate.${format}`);
  await writeFileOf(file, records);
  const { size } = await stat(file);
  const { seconds, cpuSeconds, maxRss } = await inChild<ProcessCost>(childFile('validate'), { file });
  await rm(file);
  const speed = size / 1e6 / seconds;
  const memory = maxRss / 1e6;
  const targets = [
    atLeast(`validate-${format}-mb-per-s`, LEAST_MB_PER_SECOND[format], speed),
    atMost(`validate-${format}-memory-mb`, MOST_MEGABYTES, memory),
  ];
  return {
    runs: [row(what, `${speed.toFixed(0)} MB/s`, (cpuSeconds * 1000) / records, `${memory.toFixed(0)} MB`)],
    targets: records === VALIDATE.at(-1) ? targets : [],
  };
}

/** Each line has an id to remember: no file of that size takes more memory, or more time. */
async function shortestLines(dir: string, bytes: number): Promise<Found> {
  const file = join(dir, 'shortest.jsonl');
  const records = await writeShortest(file, bytes);
  const environment = { ...process.env, ...gathering(VALIDATING.megabytes) };
  const { cpuSeconds, maxRss } = await inChild<ProcessCost>(childFile('validate'), { file }, environment);
  await rm(file);
  const what = `Validation, ${records.toLocaleString('en')} of the shortest lines`;
  const speed = bytes / 1e6 / cpuSeconds;
  const memory = maxRss / 1024 / 1024;
  return {
    runs: [row(what, `${speed.toFixed(0)} MB/s`, (cpuSeconds * 1000) / records, `${memory.toFixed(0)} MiB`)],
    targets: [
      atMost('validate-shortest-memory-mib', VALIDATING.megabytes, memory),
      atMost('validate-shortest-s', VALIDATING.seconds, cpuSeconds / VALIDATING.share),
    ],
  };
}

function childFile(name: string): string {
  return join(import.meta.dirname, 'updates', `${name}-child.ts`);
}

function row(what: string, speed: string, cpuPer1000: number | undefined, memory: string) {
  const cpu = cpuPer1000 === undefined ? '' : (cpuPer1000 * 1000).toFixed(cpuPer1000 < 0.1 ? 2 : 0);
  return { what, speed, 'CPU ms per 1,000': cpu, memory };
}
