import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { inChildren } from '../support/children.ts';
import type { ProcessCost } from '../support/process-cost.ts';
import { median } from '../support/targets.ts';
import { jsonLine, recordOf } from './customers.ts';

const run = promisify(execFile);
const WARM_UP_RECORDS = 100;

/** What a process of the step is to do. */
export interface ApplyJob {
  bucketUrl: string;
  baseUrl: string;
  accessToken: string;
  /** The batch to warm up with, and the one that is measured. */
  warmUp: PreparedBatch;
  measured: PreparedBatch;
}

/** A batch of one chunk whose input is in the bucket. */
export interface PreparedBatch {
  batch: string;
  bytes: number;
  records: number;
  etag: string;
}

export interface ApplyWorld {
  sandbox: Sandbox;
  bucketUrl: string;
  dir: string;
}

/** Lines per second of ApplyChunk in so many processes, and of as many processes of `curl`, taking turns. */
export async function applyRatio(world: ApplyWorld, concurrency: number, records: number, rounds: number) {
  const { accessToken } = world.sandbox.issueTokens();
  const ours: { seconds: number; cpuSeconds: number }[] = [];
  const curl: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    curl.push(await curlSeconds(world, accessToken, concurrency, records));
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
  const jobs = await Promise.all(
    Array.from({ length: concurrency }, async (_, process): Promise<ApplyJob> => {
      const warmUp = await prepare(bucketUrl, 0, WARM_UP_RECORDS);
      const measured = await prepare(bucketUrl, process * records, records);
      return { bucketUrl, baseUrl: sandbox.baseUrl, accessToken, warmUp, measured };
    }),
  );
  const file = join(import.meta.dirname, 'apply-child.ts');
  const { results, seconds } = await inChildren<ProcessCost>(file, jobs);
  return { seconds, cpuSeconds: results.reduce((sum, cost) => sum + cost.cpuSeconds, 0) };
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

/** Sends the same changes with nothing but `curl`: no check, no token, no result. */
async function curlSeconds({ sandbox, dir }: ApplyWorld, accessToken: string, concurrency: number, records: number) {
  const files = await Promise.all(
    Array.from({ length: concurrency }, async (_, process) => {
      const file = join(dir, `curl-${process}.txt`);
      const numbers = Array.from({ length: records }, (_, n) => process * records + n);
      await writeFile(file, numbers.map((n) => requestOf(sandbox.baseUrl, accessToken, n)).join('next\n'));
      return file;
    }),
  );
  const started = performance.now();
  const answers = await Promise.all(files.map((file) => run('curl', ['--config', file])));
  const seconds = (performance.now() - started) / 1000;
  const expected = '200'.repeat(records);
  if (answers.some(({ stdout }) => stdout !== expected)) throw new Error('curl was answered otherwise than 200');
  return seconds;
}

function requestOf(baseUrl: string, accessToken: string, n: number): string {
  const { id, ...fields } = recordOf(n);
  const options: [string, string][] = [
    ['url', `${baseUrl}/customers/${id}`],
    ['request', 'PATCH'],
    ['header', `Authorization: Bearer ${accessToken}`],
    ['header', 'Content-Type: application/json'],
    ['data', JSON.stringify(fields)],
    ['output', '/dev/null'],
    ['write-out', '%{http_code}'],
  ];
  return `silent\n${options.map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`).join('')}`;
}
