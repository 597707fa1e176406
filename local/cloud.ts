import { dirname, join } from 'node:path';
import { startMinistack } from './ministack/ministack.ts';
import { clientEnvironment } from './ministack/ministack-environment.ts';
import { ensureMinistack } from './ministack/python.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import type { RunRecord } from './processes/run-record.ts';
import type { Screen } from './screen.ts';

/** A reachable local cloud. `env` is the whole environment for programs that use it. */
export interface Cloud {
  endpoint: string;
  env: Record<string, string>;
  /** Log of the emulator, if this start runs it. */
  logFile?: string;
  /** Resolves if the emulator ends unexpectedly. */
  exited?: Promise<unknown>;
}

/** The folder of Node 24. The functions run on the first `node` that the emulator finds. */
const NODE_BIN = dirname(process.execPath);

/** Prepares the Python environment and starts the emulator in it. @throws EnvironmentError */
export async function startCloud(screen: Screen, record: RunRecord, signal: AbortSignal): Promise<Cloud> {
  const command = await screen.step('Python environment with MiniStack', () =>
    ensureMinistack({ record, signal, onProgress: (text) => screen.line(`  ${text}`) }),
  );
  return screen.step(
    'MiniStack, the local cloud',
    () => startMinistack({ ...command, record, nodeBin: NODE_BIN, signal }),
    ({ endpoint }) => endpoint,
  );
}

/** A local cloud that was started elsewhere. @throws EnvironmentError when it does not answer */
export async function existingCloud(endpoint: string, { workDir, tmpDir }: RunRecord): Promise<Cloud> {
  await fetch(endpoint, { signal: AbortSignal.timeout(5000) }).catch((error: unknown) => {
    const message = `Nothing answers at ${endpoint}: start the local cloud there, or leave out --endpoint-url.`;
    throw new EnvironmentError(message, { cause: error });
  });
  return { endpoint, env: clientEnvironment({ dir: join(workDir, 'client'), tmpDir, nodeBin: NODE_BIN, endpoint }) };
}
