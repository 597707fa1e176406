import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { groupMembers, processEntry } from '../../local/processes/process-table.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { CACHE, PROJECT } from './project.ts';

/** A program of this project that runs as a person would run it. */
export interface Running {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  /** Resolves when the program has ended: its exit code, null where a signal ended it. */
  ended: Promise<number | null>;
  /** The match of a pattern in all that was written, once it is there. */
  says: (pattern: RegExp) => Promise<RegExpExecArray>;
}

const recordSchema = z.object({
  starter: z.object({ pid: z.number() }),
  tmpDir: z.string(),
  processes: z.array(z.object({ pid: z.number(), startedAt: z.string() })),
});
const running = new Set<ChildProcess>();

/** Runs `node FILE ARGS`; `undefined` takes a variable away from the environment. */
export function run(file: string, args: string[], env: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(process.execPath, [join(PROJECT, file), ...args], {
    cwd: PROJECT,
    env: { ...process.env, ...env },
  });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
  }
  running.add(child);
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  const find = (pattern: RegExp) => pattern.exec(written.stdout) ?? pattern.exec(written.stderr);
  const says = async (pattern: RegExp) => {
    await waitUntil(() => find(pattern) !== null || !running.has(child), { withinMs: 150_000 });
    const found = find(pattern);
    if (found) return found;
    throw new Error(`${file} did not say ${pattern}:\n${written.stdout}\n${written.stderr}`);
  };
  return { child, stdout: () => written.stdout, stderr: () => written.stderr, ended, says };
}

/** Ends what a failed test left running, as Ctrl-C would. */
export async function endAll(): Promise<void> {
  for (const child of running) child.kill('SIGINT');
  await waitUntil(() => running.size === 0, { withinMs: 15_000 });
}

/** What a start of `npm start` recorded about itself, and what there is of it right now. */
export interface Traces {
  id: string;
  processes: () => number[];
  /** Record and directories. */
  files: () => string[];
}

/** Finds the record of a start once it is written. */
export async function tracesOf({ child, stderr }: Running): Promise<Traces> {
  let found: Traces | undefined;
  const look = () => {
    found = findTraces(({ starter }) => starter.pid === child.pid);
    return found !== undefined;
  };
  await waitUntil(look, { withinMs: 30_000 });
  if (found) return found;
  throw new Error(`The start wrote no record: ${stderr()}`);
}

/** The traces of the start that an npm runs, once they are there. */
export function tracesUnder(npmPid: number | undefined): Traces | undefined {
  const parentOf = (pid?: number) => pid && processEntry(pid)?.parent;
  return findTraces(({ starter: { pid } }) => [parentOf(pid), parentOf(parentOf(pid))].includes(npmPid));
}

function findTraces(wanted: (record: z.infer<typeof recordSchema>) => boolean): Traces | undefined {
  const runs = join(CACHE, 'runs');
  const names = existsSync(runs) ? readdirSync(runs).filter((name) => name.endsWith('.json')) : [];
  for (const name of names) {
    const record = readRecord(join(runs, name));
    if (!record || !wanted(record)) continue;
    const id = name.replace('.json', '');
    let started = record.processes;
    return {
      id,
      processes: () => {
        // The record may be gone, or have more processes by now.
        started = readRecord(join(runs, name))?.processes ?? started;
        return groupMembers(started).map(({ pid }) => pid);
      },
      files: () => [join(runs, name), join(runs, id), record.tmpDir].filter((path) => existsSync(path)),
    };
  }
  return undefined;
}

function readRecord(file: string): z.infer<typeof recordSchema> | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined; // just removed by its start
  }
}
