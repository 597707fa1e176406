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
  type ProcessIdentity,
  processEntry,
  runningProcesses,
} from './process-table.ts';

const identity = z.object({ pid: z.int().positive(), startedAt: z.string() });
const recordSchema = z.object({
  starter: identity,
  /** The npm process above the starter: if it has ended, the starter must end, too. */
  npm: z.optional(identity),
  tmpDir: z.string(),
  processes: z.array(identity.extend({ name: z.string() })),
});
const TMP_PREFIX = 'crm-export-';
/** The process name of npm. A program that npm ran passes npm's variables on, and may end before its children. */
const NPM = /^npm\b/;
const SHELL = /^-?(ba|da|a|k|z)?sh$|^busybox$/;
const LOOK_MS = 1000;

/** The running processes of one start, kept on disk. If this start is killed, a later start ends them. */
export type RunRecord = {
  readonly id: string;
  /** Files that are kept between runs. */
  readonly cacheDir: string;
  /** This run's own directory: logs, assemblies, and other files that help after a failure. */
  readonly workDir: string;
  /**
   * The folder for temporary files, outside of the project: programs there must not find the project's package.json
   * above them.
   */
  readonly tmpDir: string;
  /** Records a process; `close` calls its `stop`. */
  add(process: { name: string; pid: number; stop: () => Promise<void> }): void;
  /** Stops all running processes and removes both directories; with `keepWorkDir` they stay until the next start. */
  close(options?: { keepWorkDir?: boolean }): Promise<void>;
};

/** Begins the record of this start, with empty directories of its own. @param npm the npm that runs it */
export async function openRunRecord(cacheDir: string, npm?: ProcessIdentity): Promise<RunRecord> {
  const id = randomUUID();
  const file = recordFile(cacheDir, id);
  const workDir = join(cacheDir, 'runs', id);
  const tmpDir = await mkdtemp(join(tmpdir(), TMP_PREFIX));
  const processes: z.infer<typeof recordSchema>['processes'] = [];
  const stops: (() => Promise<void>)[] = [];
  const starter = identityOf(process.pid);
  // Synchronous: a short time between a start and its record leaves little for a kill in between.
  const save = () => writeWhole(file, { starter, npm, tmpDir, processes });
  mkdirSync(join(cacheDir, 'runs'), { recursive: true });
  save();
  await mkdir(workDir);
  return {
    id,
    cacheDir,
    workDir,
    tmpDir,
    add: ({ name, pid, stop }) => {
      processes.push({ name, ...identityOf(pid) });
      stops.push(stop);
      save();
    },
    close: async ({ keepWorkDir = false } = {}) => {
      await Promise.all(stops.map((stop) => stop()));
      if (!keepWorkDir) await removeRecord(cacheDir, id, tmpDir);
    },
  };
}

function identityOf(pid: number): ProcessIdentity {
  return { pid, startedAt: processEntry(pid)?.startedAt ?? '' };
}

/** Ends processes that killed starts left, and removes their files. @returns the names of the ended processes */
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
  const isStarter = ({ pid, startedAt }: ProcessIdentity) =>
    pid === record?.starter.pid && startedAt === record.starter.startedAt;
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
    return undefined; // records are replaced atomically: a crash of the machine left an unreadable one
  }
}

async function removeRecord(cacheDir: string, id: string, tmpDir: string | undefined): Promise<void> {
  const wholly = { recursive: true, force: true, maxRetries: 3 };
  // Removes the record last: while it exists, the next start cleans up after a start that is killed here.
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

/** The npm process that runs this program, directly or through a shell; undefined without npm. */
export function npmAbove(env = process.env): ProcessIdentity | undefined {
  if (env.npm_lifecycle_event === undefined) return undefined;
  const parent = processEntry(process.ppid);
  const above = parent && SHELL.test(parent.name) ? processEntry(parent.parent) : parent;
  return above && NPM.test(above.name) ? above : undefined;
}

/** Calls back once a process has ended. Ending npm alone does not end the processes that it started. */
export function whenGone(watched: ProcessIdentity | undefined, gone: () => void): void {
  if (!watched) return;
  const timer = setInterval(() => {
    if (isRunning(watched)) return;
    clearInterval(timer);
    gone();
  }, LOOK_MS);
  timer.unref();
}
