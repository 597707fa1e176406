import { join } from 'node:path';
import { lastLines, startProcess } from '../../../local/processes/processes.ts';
import { openRunRecord, type RunRecord } from '../../../local/processes/run-record.ts';
import { waitUntil } from '../../../local/processes/wait-until.ts';
import { pythonWith } from '../../support/python-with.ts';

const ROOT = join(import.meta.dirname, '../../..');
const READY_WITHIN_MS = 60_000;
/**
 * Serves one request at a time. With threads, moto shows an unfinished item with only its key, while a write to
 * DynamoDB is atomic. The X-Ray module, which needs another package, is not loaded.
 */
const SERVER = `
import sys, types
sys.modules['moto.xray.mock_client'] = types.SimpleNamespace(MockXrayClient=object, XRaySegment=object)
import moto.server as server
run = server.run_simple
server.run_simple = lambda *args, **options: run(*args, **{**options, 'threaded': False})
server.main()
`;

/**
 * Starts moto's server on its own port, empty at first. Unlike MiniStack, it writes a secret's version only once. Its
 * process ends with the record, however the test ends.
 */
export async function startMoto() {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    return { endpoint: await serve(await pythonWith('moto', ''), record), close: () => record.close() };
  } catch (error) {
    await record.close();
    throw error;
  }
}

async function serve(command: string, record: RunRecord): Promise<string> {
  // Inherits no credentials, proxies or settings of the user. Port 0: any free port.
  const env = { PATH: '/usr/bin:/bin', HOME: record.workDir, LANG: 'C.UTF-8' };
  const args = ['-I', '-c', SERVER, '-H', '127.0.0.1', '-p', '0'];
  const server = await startProcess({ name: 'moto', command, args, env, record });
  const { hasEnded, logFile } = server;
  let endpoint: string | undefined;
  const answers = async () => {
    endpoint = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec((await lastLines(logFile, 20)).join('\n'))?.[1];
    return hasEnded() || endpoint !== undefined;
  };
  await waitUntil(answers, { withinMs: READY_WITHIN_MS });
  if (hasEnded() || endpoint === undefined) throw new Error(`moto did not start: ${await lastLines(logFile, 20)}`);
  return endpoint;
}
