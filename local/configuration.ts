import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfiguration } from '../core/config/configuration.ts';
import type { Deployment } from '../core/config/deployment.ts';
import type { Entity } from '../core/config/entities.ts';

/** The name under which everything is deployed locally. */
export const LOCAL_DEPLOYMENT = 'local';

type Plans = Partial<Record<Entity, { tables: object; changes?: object }>>;

/** Types by the words of the sandbox. */
const SANDBOX_TABLES: Plans = {
  leads: {
    tables: { columns: { score: 'integer', createdAt: 'timestamp', nextContactDate: 'date' }, except: ['notes'] },
  },
  customers: { tables: { columns: { birthDate: 'date', gender: 'integer' }, hash: ['idNumber'] } },
};

/** Of these a second night shows what has changed. */
export const COMPARED = 'customers';

/** The tables of `npm start -- --tables`. Which fields another CRM has is not known: every column is text. */
export function tablesOf(entities: readonly Entity[], ofSandbox: boolean): Plans {
  const known = ofSandbox ? SANDBOX_TABLES : {};
  return Object.fromEntries(entities.map((entity) => [entity, known[entity] ?? { tables: {} }]));
}

/** The same with the feed that a second night shows, which is made of tables whether they are asked for or not. */
export function withFeed(plans: Plans): Plans {
  return { ...plans, [COMPARED]: { tables: {}, ...plans[COMPARED], changes: { key: 'id' } } };
}

interface Changes {
  crm: Pick<Deployment['crm'], 'baseUrl' | 'authUrl'> & { fileHosts?: string[] | undefined };
  pollSeconds?: number | undefined;
  updates?: boolean;
  entities?: Plans | undefined;
  endpoint: string;
}

/**
 * Writes the configuration of this start: `config/local.json` with the addresses of the CRM that is used now. What it does not say
 * is left to the defaults, so that each entity waits as all do.
 * @returns the file, and what it says
 */
export async function writeConfiguration(
  dir: string,
  { crm, pollSeconds, updates = false, entities, endpoint }: Changes,
) {
  const base = readConfiguration(LOCAL_DEPLOYMENT, undefined, endpoint);
  const written = JSON.parse(await readFile(base.file, 'utf8'));
  const { deadlineSeconds } = base.deployment.polling;
  const polling = pollSeconds
    ? {
        firstWaitSeconds: pollSeconds,
        largestWaitSeconds: pollSeconds,
        createAgainSeconds: pollSeconds,
        // The schema allows no more than 500 waits, and long waits need a deadline that leaves room for some.
        deadlineSeconds: Math.min(Math.max(deadlineSeconds, 10 * pollSeconds), 500 * pollSeconds),
      }
    : written.polling;
  const file = join(dir, 'local.json');
  const own = {
    ...written,
    $schema: undefined,
    crm: { ...written.crm, ...crm },
    customerUpdates: updates,
    polling,
    ...(entities && { entities }),
  };
  await writeFile(file, `${JSON.stringify(own, undefined, 2)}\n`);
  return readConfiguration(LOCAL_DEPLOYMENT, file, endpoint);
}
