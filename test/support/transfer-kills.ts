import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Resume } from '../../transfer/base/types.ts';
import type { OriginFile } from './origin/origin.ts';
import type { ChildJob } from './transfer-child.ts';
import { PART, type Ran, type Transfers } from './transfers.ts';

const CHILD = join(import.meta.dirname, 'transfer-child.ts');
/** Four parts for each connection. */
const PARTS = 16;
const CONNECTIONS = 4;
/** Slow enough for a kill in the middle: the transfer takes about half a second. */
const BYTES_PER_SECOND = 500_000;

export interface Killed {
  ran: Ran;
  /** The parts in the bucket when the process was dead. */
  kept: number;
  /** The parts that were sent more than once. */
  again: number;
  connections: number;
}

/** Kills the process of a transfer at a random moment, and continues from its record in another process. */
export async function killedOnce(transfers: Transfers, random: () => number): Promise<Killed> {
  const file = transfers.origin.file({ size: PARTS * PART - 77, script: () => ({ bytesPerSecond: BYTES_PER_SECOND }) });
  const recorded = await transfers.transferOf(file, { limits: { recordFromBytes: 0, largestPartBytes: PART } });
  const resume = recorded.resume as Resume;
  await killAtRandom(transfers, file, resume, random);
  const kept = transfers.open(recorded.key)[0]?.parts ?? 0;
  file.setScript(() => undefined);
  const ran = await transfers.transferOf(file, { key: recorded.key, resume });
  const sent = transfers.store.calls.filter(({ key, operation }) => key === ran.key && operation === 'UploadPart');
  return { ran, kept, again: sent.length - PARTS, connections: CONNECTIONS };
}

async function killAtRandom(
  transfers: Transfers,
  file: OriginFile,
  resume: Resume,
  random: () => number,
): Promise<void> {
  const { credentials: _, ...store } = transfers.storeOptions();
  const job: ChildJob = { url: file.url, resume, store, connections: CONNECTIONS };
  const child = spawn(process.execPath, [CHILD, JSON.stringify(job)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  const wholeMs = (1000 * (PARTS * PART)) / CONNECTIONS / BYTES_PER_SECOND;
  await sleep(random() * wholeMs);
  child.kill('SIGKILL');
  await ended;
}
