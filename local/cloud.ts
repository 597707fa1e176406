import { dirname, join } from 'node:path';
import { startMinistack } from './ministack/ministack.ts';
import { clientEnvironment } from './ministack/ministack-environment.ts';
import { ensureMinistack } from './ministack/python.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import type { RunRecord } from './processes/run-record.ts';
import type { Screen } from './screen.ts';

/** A local cloud within reach. `env` is the whole environment for programs that use it. */
export interface Cloud {
  endpoint: string;
  env: Record<string, string>;
  /** Log of the emulator, where this start runs it. */
  logFile?: string;
  /** Resolves when the emulator ends, which it does not by itself. */
  exited?: Promise<unknown>;
}

/** Where Node 24 is, whatever the machine has: the functions run on the first `node` that the emulator finds. */
const NODE_BIN = dirname(process.execPath);

/** The emulator of this start: its Python environment, then itself. @throws EnvironmentError */
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

/** A local cloud that somebody else runs. @throws EnvironmentError when nothing answers there */
export async function existingCloud(endpoint: string, { workDir, tmpDir }: RunRecord): Promise<Cloud> {
  await fetch(endpoint, { signal: AbortSignal.timeout(5000) }).catch((error: unknown) => {
    const message = `Nothing answers at ${endpoint}: start the local cloud there, or leave out --endpoint-url.`;
    throw new EnvironmentError(message, { cause: error });
  });
  return { endpoint, env: clientEnvironment({ dir: join(workDir, 'client'), tmpDir, nodeBin: NODE_BIN, endpoint }) };
}
