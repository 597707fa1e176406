import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bootstrap } from '../../../local/cdk.ts';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { keepBundles } from './bundles.ts';
import type { LocalCloud } from './deployed.ts';
import { recordingNode } from './recording-node.ts';

const ROOT = join(import.meta.dirname, '../../..');

declare module 'vitest' {
  interface ProvidedContext {
    cloud: LocalCloud;
  }
}

/**
 * Starts the local cloud once, prepared for CDK. Waits of machines take no time (`SFN_WAIT_SCALE` 0), so the number of
 * status requests in the sandbox determines the pace of a run.
 */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const command = await ensureMinistack({ record });
    const options = { ...command, record, nodeBin: await recordingNode(), settings: { SFN_WAIT_SCALE: '0' } };
    const [ministack, bundles] = await Promise.all([startMinistack(options), keepBundles()]);
    await bootstrap(ministack.endpoint);
    const { endpoint, env, pid, logFile } = ministack;
    project.provide('cloud', { endpoint, env, pid, logFile, bundles });
    return () => record.close();
  } catch (error) {
    await record.close();
    throw error;
  }
}
