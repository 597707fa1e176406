import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentError } from './environment-error.ts';

const KEEPER = join(import.meta.dirname, 'keeper.sh');

/** A process group that `npm start` began, with the id of its leader, or a part of this process. */
type Begun = { pid?: number; exited?: Promise<unknown>; stop(): Promise<void> };

/** The running processes and the folders of one start. A keeper ends and removes them, also if this process is killed. */
export type RunRecord = Awaited<ReturnType<typeof openRunRecord>>;

/** Begins the record of this start, with empty directories of its own. */
export async function openRunRecord(cacheDir: string, shell = '/bin/sh') {
  const id = randomUUID();
  /** This run's own directory: logs, assemblies. */
  const workDir = join(cacheDir, 'runs', id);
  /** For temporary files, outside of the project: programs there must not find its package.json above them. */
  const tmpDir = join(tmpdir(), `crm-export-${id}`);
  // The keeper has its own process group, so Ctrl-C does not reach it. It must not keep this process alive.
  const keeper = spawn(shell, [KEEPER, workDir, tmpDir], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(keeper, 'spawn').catch((cause: Error) => {
    const message = `${shell}, which ends all other processes, could not be started (${cause.message}). End some programs, then start again.`;
    throw new EnvironmentError(message, { cause });
  });
  const ended = once(keeper, 'exit');
  keeper.unref();
  keeper.stdin.on('error', () => undefined);
  const running = new Set<Begun>();
  const save = () => keeper.stdin.write(`${[...running].map(({ pid }) => pid).join(' ')}\n`);
  /** Records a process or part until its end. After that, another process group may have the same number. */
  const add = (begun: Begun) => {
    running.add(begun);
    save();
    void begun.exited?.then(() => {
      running.delete(begun);
      save();
    });
  };
  /** Ends everything that this start began, and removes both directories. */
  const close = async () => {
    await Promise.all([...running].map((begun) => begun.stop()));
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
