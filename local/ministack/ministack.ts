import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EnvironmentError } from '../processes/environment-error.ts';
import { lastLines, type RunningProcess, startProcess } from '../processes/processes.ts';
import type { RunRecord } from '../processes/run-record.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { clientEnvironment, type MinistackDirectories, serverEnvironment } from './ministack-environment.ts';
import { freePort } from './ports.ts';
import type { MinistackCommand } from './python.ts';

const ATTEMPTS = 3;
const READY_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 5_000;

/** Options for starting MiniStack. */
export type MinistackOptions = MinistackCommand & {
  record: RunRecord;
  /** The directory whose `node` runs the functions. */
  nodeBin: string;
  /** Factor for the times of Wait states and retries; 0 skips all waits. */
  waitScale?: number | undefined;
  /** Whether MiniStack enforces the policies of users, roles and buckets. */
  enforceRights?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** A running MiniStack, empty at first. */
export type Ministack = RunningProcess & {
  endpoint: string;
  /** The whole environment for programs that use it as AWS (CDK CLI, our CLI). */
  env: Record<string, string>;
  logFile: string;
};

/**
 * Starts MiniStack on loopback with an environment of its own and waits until it answers.
 * @throws EnvironmentError when it does not start
 */
export async function startMinistack(options: MinistackOptions): Promise<Ministack> {
  const { record, nodeBin, signal } = options;
  const dir = await mkdtemp(join(record.workDir, 'ministack-'));
  const tmpDir = await mkdtemp(join(record.tmpDir, 'ministack-'));
  await mkdir(join(dir, 'home'));
  // Node searches the folders above the functions' code for a package.json. On AWS it finds none.
  await writeFile(join(tmpDir, 'package.json'), '{}');
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    const port = await freePort();
    const ministack = await tryPort(options, { dir, tmpDir, nodeBin }, port, attempt === ATTEMPTS);
    if (ministack !== undefined) return ministack;
  }
}

/** One attempt. Returns undefined if another process took the port and another attempt follows. */
async function tryPort(
  options: MinistackOptions,
  directories: MinistackDirectories,
  port: number,
  last: boolean,
): Promise<Ministack | undefined> {
  const { command, args, record, waitScale, enforceRights, signal } = options;
  const endpoint = `http://127.0.0.1:${port}`;
  const logFile = join(directories.dir, `ministack-${port}.log`);
  // Another MiniStack could answer a health check. Ours repeats this random word.
  const word = randomUUID();
  const env = serverEnvironment({ ...directories, port, word, waitScale, enforceRights });
  const server = await startProcess({ name: 'MiniStack', command, args, env, cwd: directories.dir, logFile, record });
  try {
    if (!(await isReady(endpoint, word, server, signal)))
      throw new EnvironmentError('The local cloud (MiniStack) did not start. The log says why.', { logFile });
    return { ...server, endpoint, env: clientEnvironment({ ...directories, endpoint }), logFile };
  } catch (error) {
    await server.stop();
    const portTaken = (await lastLines(logFile, 50)).some((line) => /already in use/i.test(line));
    if (portTaken && !last) return undefined;
    throw error;
  }
}

async function isReady(endpoint: string, word: string, server: RunningProcess, signal: AbortSignal | undefined) {
  let exited = false;
  void server.exited.then(() => {
    exited = true;
  });
  const settled = async () => exited || (await answers(endpoint, word));
  return (await waitUntil(settled, { withinMs: READY_WITHIN_MS, signal })) && !exited;
}

async function answers(endpoint: string, word: string): Promise<boolean> {
  try {
    const response = await fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return (await response.text()).includes(word);
  } catch {
    return false; // not listening yet, or another program listens
  }
}
