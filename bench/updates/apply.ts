import { join } from 'node:path';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { startChild } from '../support/children.ts';
import type { ProcessCost } from '../support/process-cost.ts';
import { median } from '../support/report.ts';
import { curlLoopSeconds } from './curl-loop.ts';
import { jsonLine } from './customers.ts';
import type { ApplyJob, PreparedBatch } from './job.ts';

const ROUNDS = 3;
const WARM_UP_RECORDS = 100;

export interface ApplyWorld {
  sandbox: Sandbox;
  bucketUrl: string;
  dir: string;
}

/**
 * Lines per second of the step ApplyChunk in so many processes, and of as many processes of `curl` that send the same
 * changes. Alternating, so that whatever else the machine does hits both.
 */
export async function applyRatio(world: ApplyWorld, concurrency: number, records: number) {
  const { accessToken } = world.sandbox.issueTokens();
  const { baseUrl } = world.sandbox;
  const ours: { seconds: number; cpuSeconds: number }[] = [];
  const curl: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    curl.push(await curlLoopSeconds({ baseUrl, accessToken, dir: world.dir, concurrency, records }));
    ours.push(await applySeconds(world, accessToken, concurrency, records));
    world.sandbox.ledger.clear();
  }
  const lines = concurrency * records;
  const rate = lines / median(ours.map(({ seconds }) => seconds));
  const curlRate = lines / median(curl);
  const cpuPer1000 = (median(ours.map(({ cpuSeconds }) => cpuSeconds)) * 1000) / lines;
  return { rate, curlRate, ratio: rate / curlRate, cpuPer1000 };
}

async function applySeconds(world: ApplyWorld, accessToken: string, concurrency: number, records: number) {
  const { bucketUrl, sandbox } = world;
  const children = await Promise.all(
    Array.from({ length: concurrency }, async (_, process) => {
      const warmUp = await prepare(bucketUrl, 0, WARM_UP_RECORDS);
      const measured = await prepare(bucketUrl, process * records, records);
      const job: ApplyJob = { bucketUrl, baseUrl: sandbox.baseUrl, accessToken, warmUp, measured };
      return startChild<ProcessCost>(join(import.meta.dirname, 'apply-child.ts'), job);
    }),
  );
  try {
    await Promise.all(children.map(({ ready }) => ready));
    const started = performance.now();
    const costs = await Promise.all(children.map(({ begin }) => begin()));
    const seconds = (performance.now() - started) / 1000;
    return { seconds, cpuSeconds: costs.reduce((sum, cost) => sum + cost.cpuSeconds, 0) };
  } finally {
    for (const { child } of children) child.kill();
  }
}

let batches = 0;

/** Puts the input of a batch of one chunk into the bucket. */
async function prepare(bucketUrl: string, from: number, records: number): Promise<PreparedBatch> {
  batches += 1;
  const batch = `bench-${batches}`;
  const body = Buffer.from(Array.from({ length: records }, (_, n) => jsonLine(from + n)).join(''));
  const answer = await fetch(`${bucketUrl}/bench/updates/${batch}/input.jsonl`, { method: 'PUT', body });
  return { batch, bytes: body.length, records, etag: answer.headers.get('etag') ?? '' };
}
