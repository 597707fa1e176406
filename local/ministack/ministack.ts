import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EnvironmentError } from '../processes/environment-error.ts';
import { lastLines, startProcess } from '../processes/processes.ts';
import type { RunRecord } from '../processes/run-record.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { clientEnvironment, serverEnvironment } from './ministack-environment.ts';
import { freePort } from './ports.ts';
import type { MinistackCommand } from './python.ts';

const READY_WITHIN_MS = 60_000;

/** Options for starting MiniStack. */
export type MinistackOptions = MinistackCommand & {
  record: RunRecord;
  /** The directory whose `node` runs the functions. */
  nodeBin: string;
  /** Further variables of MiniStack. Tests skip waits by SFN_WAIT_SCALE 0. */
  settings?: Record<string, string>;
  signal?: AbortSignal | undefined;
};

/** A running MiniStack, empty at first. */
export type Ministack = Awaited<ReturnType<typeof startMinistack>>;

/**
 * Starts MiniStack on loopback with an environment of its own and waits until it answers.
 * @throws EnvironmentError when it does not start
 */
export async function startMinistack(options: MinistackOptions) {
  const { command, args, record, nodeBin, settings = {}, signal } = options;
  const dir = await mkdtemp(join(record.workDir, 'ministack-'));
  const tmpDir = await mkdtemp(join(record.tmpDir, 'ministack-'));
  await mkdir(join(dir, 'home'));
  // Node searches the folders above the functions' code for a package.json. On AWS it finds none.
  await writeFile(join(tmpDir, 'package.json'), '{}');
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const env = serverEnvironment({ dir, tmpDir, nodeBin, port, settings });
  const server = await startProcess({ name: 'MiniStack', command, args, env, cwd: dir, record });
  const { hasEnded, logFile } = server;
  // Another MiniStack may answer at the same port, so its log shows whether it listens.
  const listens = async () =>
    (await lastLines(logFile, 50)).some((line) => line.endsWith(`Running on ${endpoint} (CTRL + C to quit)`));
  const isSettled = async () => hasEnded() || (await listens());
  if ((await waitUntil(isSettled, { withinMs: READY_WITHIN_MS, signal })) && !hasEnded())
    return { ...server, endpoint, env: clientEnvironment({ dir, tmpDir, nodeBin, endpoint }) };
  throw new EnvironmentError('The local cloud (MiniStack) did not start. The log says why.', { logFile });
}
