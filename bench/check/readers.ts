import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Encoding } from '../../core/file/encoding.ts';
import { inChild } from '../support/children.ts';

/** scan: the pass of PublishFile. */
export const OURS = ['scan'] as const;
/** csv-parse and DuckDB both read all fields and count records. */
export const OTHERS = ['csv-parse', 'duckdb'] as const;

export interface ReaderJob {
  reader: (typeof OURS | typeof OTHERS)[number];
  file: string;
  size: number;
  encoding: Encoding | null;
  /** Cells of a record. */
  width: number;
}

export interface Reading {
  cpuSeconds: number;
  /** The header among them; undefined where something else was counted. */
  records?: number;
}

export function readOf(job: ReaderJob): Promise<Reading> {
  return inChild(join(import.meta.dirname, 'reader-child.ts'), job);
}

/** Measures the whole process of `wc -l`, which counts lines, not records. */
export function wcOf(file: string): Reading {
  const { stderr, status } = spawnSync('bash', ['-c', `TIMEFORMAT='%3U %3S'; time wc -l '${file}' >/dev/null`]);
  const [user, system] = stderr.toString().trim().split(' ').map(Number);
  if (status !== 0 || user === undefined || system === undefined) throw new Error(`wc ended with ${status}: ${stderr}`);
  return { cpuSeconds: user + system };
}
