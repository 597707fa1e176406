import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bootstrap } from '../../../local/bootstrap.ts';
import { type Ministack, startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { keepBundles } from './bundles.ts';
import { recordingNode } from './recording-node.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The local cloud of a run of tests: `inject('cloud')`. All files share it, so the names of what a file makes there are its own. */
export interface LocalCloud extends Pick<Ministack, 'endpoint' | 'env' | 'pid' | 'logFile'> {
  /** An interpreter with boto3 and moto, which only tests need. */
  python: string;
  /** The folder of the bundled functions. */
  bundles: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    cloud: LocalCloud;
  }
}

/**
 * Started once, prepared for CDK. Waits of machines take no time (`waitScale` 0), so what paces a run is the number of status
 * reads that its sandbox lets pass.
 */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    // This is done before the files, which run beside each other: pip could not install into one environment twice at
    // once.
    const command = await ensureMinistack({ record, also: join(ROOT, 'test', 'requirements.txt') });
    const options = { ...command, record, nodeBin: await recordingNode(), waitScale: 0 };
    const [cloud, bundles] = await Promise.all([startMinistack(options), keepBundles()]);
    await bootstrap(cloud.endpoint);
    const { endpoint, env, pid, logFile } = cloud;
    project.provide('cloud', { endpoint, env, pid, logFile, python: command.command, bundles });
  } catch (error) {
    await record.close();
    throw error;
  }
  return () => record.close();
}
