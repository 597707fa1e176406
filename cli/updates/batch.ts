import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, type DescribeExecutionCommandOutput } from '@aws-sdk/client-sfn';
import type { Counts } from '../../core/batch/batch-manifest.ts';
import { secondsBetween } from '../runs/run-report.ts';
import type { Target } from '../support/target.ts';
import type { ResultTally } from './tally.ts';

/** How far a batch is. */
export interface BatchProgress {
  counts: Counts;
  /** Lines with an outcome. */
  lines: number;
  records: number;
  seconds: number;
  status: string;
}

/** A name that sorts by time: `update-20261120T020000-1a2b3c`. */
export function newBatchName(now = new Date()): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+Z$/g, '');
  return `update-${stamp}-${randomBytes(3).toString('hex')}`;
}

/** The largest pause between two looks; the longer a batch takes, the less often it is looked at. */
const LARGEST_PAUSE_MS = 5000;

export interface FollowBatchOptions {
  records: number;
  firstPauseMs?: number;
  signal?: AbortSignal | undefined;
  onProgress?: (progress: BatchProgress) => void;
}

/**
 * Follows a batch to its end. Stopping to follow (`signal`) never stops the batch.
 * @throws the signal's reason
 */
export async function followBatch(
  { sfn }: Pick<Target, 'sfn'>,
  executionArn: string,
  tally: ResultTally,
  { records, firstPauseMs = 1000, signal, onProgress }: FollowBatchOptions,
): Promise<DescribeExecutionCommandOutput> {
  for (let pause = firstPauseMs; ; pause = Math.min(LARGEST_PAUSE_MS, pause * 1.05)) {
    signal?.throwIfAborted();
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    // After the status, so that results written before the end are counted.
    await tally.refresh();
    const status = execution.status ?? 'RUNNING';
    const seconds = secondsBetween(execution.startDate, execution.stopDate ?? new Date());
    onProgress?.({ counts: { ...tally.counts }, lines: tally.lines, records, seconds, status });
    if (status !== 'RUNNING') return execution;
    await sleep(pause, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}
