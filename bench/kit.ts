import { execFileSync } from 'node:child_process';
import { Console } from 'node:console';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createScreen, type Screen } from '../local/screen.ts';

export type Row = Record<string, string | number>;

/** A target and the measured value. */
export interface Target {
  id: string;
  aim: string;
  measured: number;
  reached: boolean;
}

/** The results of an experiment: rows for its table, and the targets that it decides. */
export interface Found {
  runs: Row[];
  targets: Target[];
}

/** The tools of every benchmark. */
export interface Kit {
  /** `--quick`: runs everything once and small. It tests the benchmark and measures no speed. */
  quick: boolean;
  /** A folder that is removed when the process ends. */
  dir: string;
  screen: Screen;
  /**
   * Runs an experiment, unless `--only` names others, and prints its results at once: a table for a person, or with
   * `--json` one line. A failed experiment is reported; the others still run, and the process ends with code 1.
   */
  experiment: (id: string, what: string, work: () => Promise<Found>) => Promise<void>;
}

const boolean = { type: 'boolean', default: false } as const;

/** Runs a benchmark with the common options: `--quick`, `--only ID,ID`, `--json`. */
export async function benchmark(work: (kit: Kit) => Promise<void>): Promise<void> {
  const options = { json: boolean, quick: boolean, only: { type: 'string', default: '' } } as const;
  const { json, quick, only } = parseArgs({ options }).values;
  const ids = only.split(',').filter(Boolean);
  const dir = mkdtempSync(join(tmpdir(), 'bench-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const screen = createScreen(process.stderr);
  const experiment: Kit['experiment'] = async (id, what, run) => {
    if (ids.length > 0 && !ids.includes(id)) return;
    try {
      const found = await screen.step(what, run);
      if (json) process.stdout.write(`${JSON.stringify({ what, ...found })}\n`);
      else for (const table of [found.runs, found.targets]) new Console(process.stdout).table(table);
    } catch (error) {
      screen.line(error instanceof Error ? (error.stack ?? error.message) : String(error));
      process.exitCode = 1;
    }
  };
  await work({ quick, dir, screen, experiment });
}

/** Binds this process and its children to the last core. */
export function keepToOneCore(): void {
  const core = String(cpus().length - 1);
  execFileSync('taskset', ['-a', '-p', '-c', core, String(process.pid)], { stdio: 'ignore' });
}

/** A target that is met at or below a value. */
export const atMost = (id: string, limit: number, measured: number): Target =>
  target(id, `<= ${limit}`, measured, measured <= limit);

/** A target that is met at or above a value. */
export const atLeast = (id: string, limit: number, measured: number): Target =>
  target(id, `>= ${limit}`, measured, measured >= limit);

const target = (id: string, aim: string, measured: number, reached: boolean): Target => {
  return { id, aim, measured: Math.round(measured * 100) / 100, reached };
};

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
