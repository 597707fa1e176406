import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { EnvironmentError } from '../processes/environment-error.ts';
import { type ExitStatus, lastLines, type RunningProcess, startProcess } from '../processes/processes.ts';
import type { RunRecord } from '../processes/run-record.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { clientEnvironment, type MinistackDirectories, serverEnvironment } from './ministack-environment.ts';
import { freePort } from './ports.ts';
import type { MinistackCommand } from './python.ts';

const NODE_MAJOR = 24;
const ATTEMPTS = 3;
const READY_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 5_000;
const ADMIN_WITHIN_MS = 60_000;
const run = promisify(execFile);
const health = z.object({ edition: z.string() });
const applied = z.object({ applied: z.record(z.string(), z.unknown()) });

/** Options for starting MiniStack. */
export type MinistackOptions = MinistackCommand & {
  record: RunRecord;
  /** The directory whose `node` runs the functions. */
  nodeBin: string;
  /** The preferred port. If it is in use, another free port is taken. */
  port?: number | undefined;
  /** Factor for the times of Wait states and retries; 0 skips all waits. */
  waitScale?: number | undefined;
  /** Whether MiniStack enforces the policies of users, roles and buckets. */
  enforceRights?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** A running MiniStack, empty at first. */
export type Ministack = {
  endpoint: string;
  /** The whole environment for programs that use it as AWS (CDK CLI, our CLI). */
  env: Record<string, string>;
  pid: number;
  logFile: string;
  exited: Promise<ExitStatus>;
  /** Ends MiniStack and all processes of its functions. Resolves when they are gone. */
  stop(): Promise<void>;
  /** Deletes everything that was deployed and stored. */
  reset(): Promise<void>;
  /** Changes MiniStack's own settings, such as `stepfunctions._SFN_WAIT_SCALE`. Throws for an unknown setting. */
  configure(values: Record<string, string | number>): Promise<void>;
};

/**
 * Starts MiniStack on loopback with an environment of its own and waits until it answers.
 * @throws EnvironmentError when the functions would not run on Node 24, or MiniStack does not start
 */
export async function startMinistack(options: MinistackOptions): Promise<Ministack> {
  const { port, signal } = options;
  await checkNode(options.nodeBin);
  const directories = await makeDirectories(options);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    const wanted = attempt === 1 && port !== undefined ? port : await freePort();
    const ministack = await tryPort(options, directories, wanted, attempt === ATTEMPTS);
    if (ministack !== undefined) return ministack;
  }
}

async function makeDirectories({ record, nodeBin }: MinistackOptions): Promise<MinistackDirectories> {
  const dir = await mkdtemp(join(record.workDir, 'ministack-'));
  const tmpDir = await mkdtemp(join(record.tmpDir, 'ministack-'));
  await mkdir(join(dir, 'home'));
  // Node searches the folders above the functions' code for a package.json. On AWS it finds none.
  await writeFile(join(tmpDir, 'package.json'), '{}');
  return { dir, tmpDir, nodeBin };
}

/** One attempt. Returns undefined if the port was taken and another attempt follows. */
async function tryPort(options: MinistackOptions, directories: MinistackDirectories, port: number, last: boolean) {
  const { command, args, record, waitScale, enforceRights, signal } = options;
  const endpoint = `http://127.0.0.1:${port}`;
  const logFile = join(directories.dir, `ministack-${port}.log`);
  // Another MiniStack could answer a health check. Ours repeats this random word.
  const word = randomUUID();
  const env = serverEnvironment({ ...directories, port, word, waitScale, enforceRights });
  const server = await startProcess({ name: 'MiniStack', command, args, env, cwd: directories.dir, logFile, record });
  try {
    if (await isReady(endpoint, word, server, signal)) return handle(server, endpoint, directories, logFile);
    throw new EnvironmentError('The local cloud (MiniStack) did not start. The log says why.', { logFile });
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
    return health.parse(await response.json()).edition === word;
  } catch {
    return false; // not listening yet, or another program listens
  }
}

function handle(
  server: RunningProcess,
  endpoint: string,
  directories: MinistackDirectories,
  logFile: string,
): Ministack {
  const post = async (path: string, body: unknown) => {
    const request = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(ADMIN_WITHIN_MS) };
    const response = await fetch(`${endpoint}/_ministack/${path}`, request);
    if (!response.ok) throw new Error(`MiniStack answered ${response.status} to ${path}`);
    return response.json();
  };
  return {
    endpoint,
    env: clientEnvironment({ ...directories, endpoint }),
    pid: server.pid,
    logFile,
    exited: server.exited,
    stop: server.stop,
    reset: async () => {
      await post('reset', {});
    },
    configure: async (values) => {
      const known = applied.parse(await post('config', values)).applied;
      const unknown = Object.keys(values).filter((key) => !(key in known));
      if (unknown.length > 0) throw new Error(`MiniStack did not accept the setting ${unknown.join(', ')}`);
    },
  };
}

async function checkNode(nodeBin: string): Promise<void> {
  const advice = 'Run "npm install" (with scripts allowed for the package "node"), then start again.';
  const found = await run('node', ['--version'], { env: { PATH: nodeBin } }).catch((cause: unknown) => {
    const message = `There is no Node ${NODE_MAJOR} in ${nodeBin} to run the functions. ${advice}`;
    throw new EnvironmentError(message, { cause });
  });
  const version = found.stdout.trim();
  if (!version.startsWith(`v${NODE_MAJOR}.`)) {
    throw new EnvironmentError(`The functions need Node ${NODE_MAJOR}, but ${nodeBin} has ${version}. ${advice}`);
  }
}
