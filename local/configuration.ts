import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfiguration } from '../core/config/configuration.ts';
import type { Deployment } from '../core/config/deployment.ts';

/** The name under which everything is deployed locally. */
export const LOCAL_DEPLOYMENT = 'local';

interface Changes {
  crm: Pick<Deployment['crm'], 'baseUrl' | 'authUrl'> & { fileHosts?: string[] | undefined };
  pollSeconds?: number | undefined;
  updates?: boolean;
  endpoint: string;
}

/**
 * Writes the configuration of this start: `config/local.json` with the addresses of the CRM that is used now.
 * @returns the file, and what it says
 */
export async function writeConfiguration(dir: string, { crm, pollSeconds, updates = false, endpoint }: Changes) {
  const base = readConfiguration(LOCAL_DEPLOYMENT, undefined, endpoint).deployment;
  const polling = pollSeconds
    ? {
        firstWaitSeconds: pollSeconds,
        largestWaitSeconds: pollSeconds,
        createAgainSeconds: pollSeconds,
        // The schema allows no more than 500 waits, and long waits need a deadline that leaves room for some.
        deadlineSeconds: Math.min(Math.max(base.polling.deadlineSeconds, 10 * pollSeconds), 500 * pollSeconds),
      }
    : base.polling;
  const file = join(dir, 'local.json');
  const own = { ...base, $schema: undefined, crm: { ...base.crm, ...crm }, customerUpdates: updates, polling };
  await writeFile(file, `${JSON.stringify(own, undefined, 2)}\n`);
  return readConfiguration(LOCAL_DEPLOYMENT, file, endpoint);
}
