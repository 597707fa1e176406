import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { eventually, LONGEST_WAIT_MS, PROJECT, runningProcesses } from './project.ts';

/** A program of this project that runs as a person would run it. */
export interface Running {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  /** Resolves when the program has ended: its exit code, null where a signal ended it. */
  ended: Promise<number | null>;
  /** The match of a pattern in the lines that are complete: a pipe may deliver half a line. */
  says: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** Presses Ctrl-C until the program has ended: npm passes on a signal that the terminal has already sent to both. */
  interrupt: () => Promise<number | null>;
}

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
  const lines = (text: string) => text.slice(0, text.lastIndexOf('\n') + 1);
  const find = (pattern: RegExp) => pattern.exec(lines(written.stdout)) ?? pattern.exec(lines(written.stderr));
  const says = async (pattern: RegExp) => {
    await waitUntil(() => find(pattern) !== null || !running.has(child), { withinMs: 280_000 });
    const found = find(pattern);
    if (found) return found;
    throw new Error(`${file} did not say ${pattern}:\n${written.stdout}\n${written.stderr}`);
  };
  const interrupt = async () => {
    child.kill('SIGINT');
    const again = setInterval(() => child.kill('SIGINT'), 1);
    return ended.finally(() => clearInterval(again));
  };
  return { child, stdout: () => written.stdout, stderr: () => written.stderr, ended, says, interrupt };
}

/** Ends what a failed test left running, as Ctrl-C would. */
export async function endAll(): Promise<void> {
  for (const child of running) child.kill('SIGINT');
  await eventually(() => running.size === 0);
}

/** The processes and folders of one `npm start`, and which of them exist now. */
export interface Traces {
  processes: () => number[];
  /** Waits until its processes have ended: a killed process stays for a moment after its parent. */
  ended: () => Promise<void>;
  /** Its directories. */
  files: () => string[];
}

/** Finds the traces of a start once its keeper runs. @param child the start, or the npm that runs it */
export async function tracesOf(child: ChildProcess): Promise<Traces> {
  const find = () => {
    const all = runningProcesses();
    const starters = [child.pid, ...all.filter(({ parent }) => parent === child.pid).map(({ pid }) => pid)];
    return all.find(({ command, parent }) => command.includes('/keeper.sh ') && starters.includes(parent));
  };
  const keeper = await eventually(find);
  const groups = new Set([keeper.pid]);
  const processes = () => {
    const all = runningProcesses();
    for (const { parent, group } of all) if (parent === keeper.parent) groups.add(group);
    return all.filter(({ group }) => groups.has(group)).map(({ pid }) => pid);
  };
  const ended = async () => {
    await waitUntil(() => processes().length === 0, { withinMs: LONGEST_WAIT_MS, everyMs: 200 });
    const left = runningProcesses().filter(({ group }) => groups.has(group));
    expect(left.map(({ command }) => command)).toEqual([]);
  };
  // The first path ends with the id of the start. Both may contain blanks.
  const folders = /\/keeper\.sh (.+\/runs\/\S+) (.+)$/.exec(keeper.command)?.slice(1) ?? [];
  return { processes, ended, files: () => folders.filter((path) => existsSync(path)) };
}
