import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { endGroups, groupMembers, isRunning, type ProcessIdentity, processEntry } from './process-table.ts';

const identity = z.object({ pid: z.int().positive(), startedAt: z.string() });
const recordSchema = z.object({
  starter: identity,
  tmpDir: z.string(),
  /** Each leads a process group. */
  processes: z.array(identity.extend({ name: z.string() })),
});
const TMP_PREFIX = 'crm-export-';

/** The running processes of one start, kept on disk. If this start is killed, a later start ends them. */
export type RunRecord = {
  /** Files that are kept between runs. */
  readonly cacheDir: string;
  /** This run's own directory: logs, assemblies, and other files that help after a failure. */
  readonly workDir: string;
  /**
   * The folder for temporary files, outside of the project: programs there must not find the project's package.json
   * above them.
   */
  readonly tmpDir: string;
  /** Records a process that leads its own group. */
  add(name: string, pid: number): ProcessIdentity;
  /** Removes a process whose group has ended: its number may be given to another group. */
  remove(ended: ProcessIdentity): void;
  /** Ends all processes and removes both directories; with `keepWorkDir` they stay until the next start. */
  close(options?: { keepWorkDir?: boolean }): Promise<void>;
};

/** Begins the record of this start, with empty directories of its own. */
export async function openRunRecord(cacheDir: string): Promise<RunRecord> {
  const id = randomUUID();
  const file = recordFile(cacheDir, id);
  const workDir = join(cacheDir, 'runs', id);
  const tmpDir = join(tmpdir(), `${TMP_PREFIX}${id}`);
  const processes: z.infer<typeof recordSchema>['processes'] = [];
  const starter = identityOf(process.pid);
  // Synchronous: a short time between a start and its record leaves little for a kill in between.
  const save = () => {
    writeFileSync(`${file}.new`, JSON.stringify({ starter, tmpDir, processes }));
    renameSync(`${file}.new`, file);
  };
  mkdirSync(join(cacheDir, 'runs'), { recursive: true });
  try {
    save();
    await Promise.all([mkdir(workDir), mkdir(tmpDir, { mode: 0o700 })]);
  } catch (error) {
    await removeRecord(cacheDir, id, tmpDir); // the disk may be full
    throw error;
  }
  return {
    cacheDir,
    workDir,
    tmpDir,
    add: (name, pid) => {
      const started = { name, ...identityOf(pid) };
      processes.push(started);
      save();
      return started;
    },
    remove: (ended) => {
      const at = processes.findIndex(({ pid }) => pid === ended.pid);
      if (at >= 0) processes.splice(at, 1);
    },
    close: async ({ keepWorkDir = false } = {}) => {
      await endGroups(processes);
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
  if (record !== undefined && isRunning(record.starter)) return [];
  const left = (record?.processes ?? []).filter((leader) => groupMembers([leader]).length > 0);
  await endGroups(left);
  await removeRecord(cacheDir, id, record?.tmpDir);
  return left.map(({ name }) => name);
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
  await rm(`${recordFile(cacheDir, id)}.new`, { force: true });
  await rm(recordFile(cacheDir, id), { force: true });
}

function recordFile(cacheDir: string, id: string): string {
  return join(cacheDir, 'runs', `${id}.json`);
}
