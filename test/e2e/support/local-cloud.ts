import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bootstrap } from '../../../local/cdk.ts';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { keepBundles } from './bundles.ts';
import type { Deployed, LocalCloud } from './deployed.ts';
import { recordingNode } from './recording-node.ts';

const ROOT = join(import.meta.dirname, '../../..');

declare module 'vitest' {
  interface ProvidedContext {
    cloud: LocalCloud;
    /** An address that deploys the shared stack at the first request, and returns the address of its sandbox. */
    sharedStack: string;
  }
}

/**
 * Starts the local cloud once, prepared for CDK. Waits of machines take no time (`waitScale` 0), so the number of
 * status requests in the sandbox determines the pace of a run.
 */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const command = await ensureMinistack({ record });
    const options = { ...command, record, nodeBin: await recordingNode(), waitScale: 0 };
    const [ministack, bundles] = await Promise.all([startMinistack(options), keepBundles()]);
    await bootstrap(ministack.endpoint);
    const { endpoint, env, pid, logFile } = ministack;
    const cloud = { endpoint, env, pid, logFile, bundles };
    const shared = await offerSharedStack(cloud);
    project.provide('cloud', cloud);
    project.provide('sharedStack', shared.url);
    return async () => {
      await shared.close();
      await record.close();
    };
  } catch (error) {
    await record.close();
    throw error;
  }
}

async function offerSharedStack(cloud: LocalCloud): Promise<{ url: string; close: () => Promise<void> }> {
  let deployed: Promise<Deployed> | undefined;
  const deploy = async () => {
    // Loading CDK takes a second, and most files do not need it.
    const { deploySharedStack } = await import('./shared-stack.ts');
    return deploySharedStack(cloud);
  };
  const server = createServer(async (_, response) => {
    deployed ??= deploy();
    await deployed.then(
      ({ sandbox }) => response.end(sandbox.url),
      (error) => response.writeHead(500).end(`The shared stack could not be deployed: ${error}`),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      const stack = await deployed?.catch(() => undefined);
      await stack?.close();
    },
  };
}
