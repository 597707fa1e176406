import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentError } from './environment-error.ts';

const KEEPER = join(import.meta.dirname, 'keeper.sh');

/** The leader of a process group, and how to end the group. */
type Leader = { pid: number; exited: Promise<unknown>; stop(): Promise<void> };

/** The running processes and the folders of one start. A keeper ends and removes them, also if this process is killed. */
export type RunRecord = Awaited<ReturnType<typeof openRunRecord>>;

/** Begins the record of this start, with empty directories of its own. */
export async function openRunRecord(cacheDir: string, shell = '/bin/sh') {
  const id = randomUUID();
  /** This run's own directory: logs, assemblies. */
  const workDir = join(cacheDir, 'runs', id);
  /** For temporary files, outside of the project: programs there must not find its package.json above them. */
  const tmpDir = join(tmpdir(), `crm-export-${id}`);
  const keeper = await startKeeper(shell, [workDir, tmpDir]);
  const ended = once(keeper, 'exit');
  keeper.unref();
  keeper.stdin.on('error', () => undefined);
  const running = new Set<Leader>();
  const save = () => keeper.stdin.write(`${[...running].map(({ pid }) => pid).join(' ')}\n`);
  /** Records a process that leads its own group, until it has ended: its number may be given to another group. */
  const add = (started: Leader) => {
    running.add(started);
    save();
    void started.exited.then(() => {
      running.delete(started);
      save();
    });
  };
  /** Ends all processes and removes both directories. */
  const close = async () => {
    await Promise.all([...running].map((process) => process.stop()));
    keeper.ref();
    keeper.stdin.end();
    await ended;
  };
  try {
    await mkdir(workDir, { recursive: true });
    await mkdir(tmpDir, { mode: 0o700 });
  } catch (error) {
    await close(); // the disk may be full
    throw error;
  }
  return { cacheDir, workDir, tmpDir, add, close };
}

/** @throws EnvironmentError if the machine can start no process */
async function startKeeper(shell: string, folders: string[]) {
  try {
    // The keeper has its own process group, so Ctrl-C does not reach it. It must not keep this process alive.
    const keeper = spawn(shell, [KEEPER, ...folders], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await once(keeper, 'spawn');
    return keeper;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `The process that ends all others could not be started (${why}). End some programs, then start again.`;
    throw new EnvironmentError(message, { cause });
  }
}
