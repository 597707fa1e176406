import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import * as z from 'zod';
import {
  endProcesses,
  hasMark,
  isRunning,
  isSame,
  type ProcessIdentity,
  processEntry,
  runningProcesses,
  startTimeOf,
} from './process-table.ts';

const identity = z.object({ pid: z.int().positive(), startedAt: z.string() });
const recordSchema = z.object({
  starter: identity,
  /** Without it the starter ends too, or is to be ended. */
  npm: z.optional(identity),
  tmpDir: z.string(),
  processes: z.array(identity.extend({ name: z.string() })),
});
const TMP_PREFIX = 'crm-export-';
/** The name that npm gives itself. A program that npm has run hands its variables on, and may end before what it starts. */
const NPM = /^npm\b/;
const SHELL = /^-?(ba|da|a|k|z)?sh$|^busybox$/;
const LOOK_MS = 1000;

type RecordedProcess = z.infer<typeof recordSchema>['processes'][number];

/** What one start of the program has running, kept on disk: a later start ends it if this one is killed. */
export type RunRecord = {
  readonly id: string;
  /** Files that are kept between runs. */
  readonly cacheDir: string;
  /** This run's own directory: logs, assemblies, whatever is worth a look after a failure. */
  readonly workDir: string;
  /**
   * Where temporary files go, outside of the project: what runs there must not find the project's package.json above
   * it.
   */
  readonly tmpDir: string;
  /** Notes a process; `stop` is what `close` calls. */
  add(process: { name: string; pid: number; stop: () => Promise<void> }): void;
  /** Forgets a process that has ended. */
  remove(pid: number): void;
  /** Stops whatever still runs and removes both directories; with `keepWorkDir` they stay until the next start. */
  close(options?: { keepWorkDir?: boolean }): Promise<void>;
};

/** Begins the record of this start, with empty directories of its own. @param npm the npm that runs it */
export async function openRunRecord(cacheDir: string, npm?: ProcessIdentity): Promise<RunRecord> {
  const id = randomUUID();
  const file = recordFile(cacheDir, id);
  const workDir = join(cacheDir, 'runs', id);
  const tmpDir = await mkdtemp(join(tmpdir(), TMP_PREFIX));
  const starter = { pid: process.pid, startedAt: startTimeOf(process.pid) ?? '' };
  const running = new Map<number, { entry: RecordedProcess; stop: () => Promise<void> }>();
  // Synchronous: the shorter the time between a start and its note, the less a kill in between can leave behind.
  const save = () =>
    writeWhole(file, { starter, npm, tmpDir, processes: [...running.values()].map(({ entry }) => entry) });
  mkdirSync(join(cacheDir, 'runs'), { recursive: true });
  save();
  await mkdir(workDir);
  return {
    id,
    cacheDir,
    workDir,
    tmpDir,
    add: ({ name, pid, stop }) => {
      running.set(pid, { entry: { name, pid, startedAt: startTimeOf(pid) ?? '' }, stop });
      save();
    },
    remove: (pid) => {
      if (running.delete(pid)) save();
    },
    close: async ({ keepWorkDir = false } = {}) => {
      await Promise.all([...running.values()].map(({ stop }) => stop()));
      if (!keepWorkDir) await removeRecord(cacheDir, id, tmpDir);
    },
  };
}

/** Ends what starts that were killed left running, and removes their files. @returns the names of the ended processes */
export async function endLeftovers(cacheDir: string): Promise<string[]> {
  const files = await readdir(join(cacheDir, 'runs')).catch(() => []);
  const ids = files.filter((name) => name.endsWith('.json')).map((name) => basename(name, '.json'));
  const ended = await Promise.all(ids.map((id) => endLeftover(cacheDir, id)));
  return ended.flat();
}

async function endLeftover(cacheDir: string, id: string): Promise<string[]> {
  const record = readRecord(recordFile(cacheDir, id));
  const orphaned = record?.npm !== undefined && !isRunning(record.npm);
  if (record !== undefined && isRunning(record.starter) && !orphaned) return [];
  const isStarter = (entry: ProcessIdentity) => record !== undefined && isSame(entry, record.starter);
  const processes = record?.processes.filter(isRunning) ?? [];
  const groups = new Set(processes.map(({ pid }) => pid));
  await endProcesses(() =>
    runningProcesses().filter((entry) => groups.has(entry.group) || hasMark(entry.pid, `${id}/`) || isStarter(entry)),
  );
  await removeRecord(cacheDir, id, record?.tmpDir);
  return processes.map(({ name }) => name);
}

function readRecord(file: string): z.infer<typeof recordSchema> | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined; // records are replaced whole: an unreadable one was left by a crash of the machine
  }
}

async function removeRecord(cacheDir: string, id: string, tmpDir: string | undefined): Promise<void> {
  const wholly = { recursive: true, force: true, maxRetries: 3 };
  // The record last: as long as it is there, a start that is killed here is cleaned up by the next one.
  if (tmpDir !== undefined && basename(tmpDir).startsWith(TMP_PREFIX)) await rm(tmpDir, wholly);
  await rm(join(cacheDir, 'runs', id), wholly);
  await rm(recordFile(cacheDir, id), { force: true });
}

function writeWhole(file: string, content: z.infer<typeof recordSchema>): void {
  writeFileSync(`${file}.new`, JSON.stringify(content));
  renameSync(`${file}.new`, file);
}

function recordFile(cacheDir: string, id: string): string {
  return join(cacheDir, 'runs', `${id}.json`);
}

/** The npm that runs this program, itself or by a shell; none where it runs without. */
export function npmAbove(env = process.env): ProcessIdentity | undefined {
  if (env.npm_lifecycle_event === undefined) return undefined;
  const parent = processEntry(process.ppid);
  const above = parent && SHELL.test(parent.name) ? processEntry(parent.parent) : parent;
  return above && NPM.test(above.name) ? above : undefined;
}

/** Calls back once a process has ended: who ends npm alone ends nothing that npm has started. */
export function whenGone(watched: ProcessIdentity | undefined, gone: () => void): void {
  if (!watched) return;
  const timer = setInterval(() => {
    if (isRunning(watched)) return;
    clearInterval(timer);
    gone();
  }, LOOK_MS);
  timer.unref();
}
