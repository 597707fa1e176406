import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EnvironmentError } from '../processes/environment-error.ts';
import { lastLines, type RunningProcess, startProcess } from '../processes/processes.ts';
import type { RunRecord } from '../processes/run-record.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { clientEnvironment, serverEnvironment } from './ministack-environment.ts';
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
  /** More of its own variables. Tests skip waits by SFN_WAIT_SCALE 0, and enforce policies by AUTH `true`. */
  settings?: Record<string, string>;
  signal?: AbortSignal | undefined;
};

/** A running MiniStack, empty at first. */
export type Ministack = RunningProcess & {
  endpoint: string;
  /** The whole environment for programs that use it as AWS (CDK CLI, our CLI). */
  env: Record<string, string>;
};

/**
 * Starts MiniStack on loopback with an environment of its own and waits until it answers.
 * @throws EnvironmentError when it does not start
 */
export async function startMinistack(options: MinistackOptions): Promise<Ministack> {
  const { command, args, record, nodeBin, settings = {}, signal } = options;
  const dir = await mkdtemp(join(record.workDir, 'ministack-'));
  const tmpDir = await mkdtemp(join(record.tmpDir, 'ministack-'));
  await mkdir(join(dir, 'home'));
  // Node searches the folders above the functions' code for a package.json. On AWS it finds none.
  await writeFile(join(tmpDir, 'package.json'), '{}');
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    const port = await freePort();
    const endpoint = `http://127.0.0.1:${port}`;
    // Another MiniStack could answer a health check. Ours repeats this random word.
    const word = randomUUID();
    const env = serverEnvironment({ dir, tmpDir, nodeBin, port, word, settings });
    const server = await startProcess({ name: 'MiniStack', command, args, env, cwd: dir, record });
    if (await isReady(endpoint, word, server, signal))
      return { ...server, endpoint, env: clientEnvironment({ dir, tmpDir, nodeBin, endpoint }) };
    await server.stop();
    const { logFile } = server;
    // Another process may have taken the port.
    const portTaken = (await lastLines(logFile, 50)).some((line) => /already in use/i.test(line));
    if (!portTaken || attempt === ATTEMPTS)
      throw new EnvironmentError('The local cloud (MiniStack) did not start. The log says why.', { logFile });
  }
}

/** Whether the server answers before it ends. */
async function isReady(endpoint: string, word: string, server: RunningProcess, signal: AbortSignal | undefined) {
  let hasEnded = false;
  void server.exited.then(() => {
    hasEnded = true;
  });
  const request = () => fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  // Not listening yet, or another program listens.
  const answers = async () =>
    (
      await request().then(
        (answer) => answer.text(),
        () => '',
      )
    ).includes(word);
  const isSettled = async () => hasEnded || (await answers());
  return (await waitUntil(isSettled, { withinMs: READY_WITHIN_MS, signal })) && !hasEnded;
}
