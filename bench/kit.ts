import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { textTable } from '../cli/support/text-table.ts';
import { createScreen, type Screen } from '../local/screen.ts';

export type Row = Record<string, string | number>;

/** A target and its measurement: both ratios within one run. */
export interface Target {
  id: string;
  aim: string;
  measured: number;
  met: boolean;
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
  json: boolean;
  /** An option of this benchmark alone. */
  flag: (name: string) => boolean;
  /** A folder that is removed when the process ends. */
  dir: string;
  screen: Screen;
  /** Whether to run an experiment: `--only` names it or is missing. */
  wanted: (ids: string[]) => boolean;
  /**
   * Runs an experiment if it is wanted and prints its results at once: a table for a person, or with `--json` one line.
   * A failed experiment is reported; the others still run, and the process ends with code 1.
   */
  experiment: (ids: string[], what: string, work: () => Promise<Found>) => Promise<void>;
}

const boolean = { type: 'boolean', default: false } as const;

/** Runs a benchmark with the common options: `--quick`, `--only ID,ID`, `--json`. */
export async function benchmark(work: (kit: Kit) => Promise<void>, flags: string[] = []): Promise<void> {
  const own = Object.fromEntries(flags.map((name) => [name, boolean]));
  const options = { json: boolean, quick: boolean, only: { type: 'string', default: '' }, ...own } as const;
  const values: Record<string, unknown> = parseArgs({ options }).values;
  const only = String(values.only).split(',').filter(Boolean);
  const dir = mkdtempSync(join(tmpdir(), 'bench-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const screen = createScreen(process.stderr);
  const flag = (name: string) => values[name] === true;
  const wanted = (ids: string[]) => only.length === 0 || ids.some((id) => only.includes(id));
  const experiment: Kit['experiment'] = async (ids, what, run) => {
    if (!wanted(ids)) return;
    try {
      const found = await screen.step(what, run);
      process.stdout.write(flag('json') ? `${JSON.stringify({ what, ...found })}\n` : `\n${textOf(found)}\n\n`);
    } catch (error) {
      screen.line(error instanceof Error ? (error.stack ?? error.message) : String(error));
      process.exitCode = 1;
    }
  };
  await work({ quick: flag('quick'), json: flag('json'), flag, dir, screen, wanted, experiment });
}

function textOf({ runs, targets }: Found): string {
  const headings = [...new Set(runs.flatMap((run) => Object.keys(run)))];
  const rows = runs.map((run) => headings.map((heading) => String(run[heading] ?? '')));
  const aims = targets.map(({ id, aim, measured, met }) => [id, aim, String(measured), met ? 'yes' : 'no']);
  const shown = [runs.length > 0 ? textTable(headings, rows) : '', aims.length > 0 ? textTable(AIM, aims) : ''];
  return shown.filter(Boolean).join('\n\n');
}

const AIM = ['target', 'aim', 'measured', 'met'];

/** Binds this process and its children to one core: the last. */
export function keepToOneCore(): void {
  const core = String(cpus().length - 1);
  execFileSync('taskset', ['-a', '-p', '-c', core, String(process.pid)], { stdio: 'ignore' });
}

/** A target that is met at or below a ratio. */
export function atMost(id: string, limit: number, measured: number): Target {
  return {
    id,
    aim: `<= ${Math.round(limit * 100) / 100}`,
    measured: Math.round(measured * 100) / 100,
    met: measured <= limit,
  };
}

/** A target that is met at or above a value. */
export function atLeast(id: string, limit: number, measured: number): Target {
  return { id, aim: `>= ${limit}`, measured: Math.round(measured * 100) / 100, met: measured >= limit };
}

/** A target that is met at one value alone. */
export function exactly(id: string, aim: number, measured: number): Target {
  return { id, aim: `= ${aim}`, measured, met: measured === aim };
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
