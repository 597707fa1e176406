import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfiguration } from '../core/config/configuration.ts';
import type { Deployment } from '../core/config/deployment.ts';
import type { Entity } from '../core/config/entities.ts';
import type { Polling } from '../core/config/entity-settings.ts';
import type { StartOptions } from './options.ts';

/** The name of the local deployment. */
export const LOCAL_DEPLOYMENT = 'local';

type Plans = Partial<Record<Entity, { tables?: object; changes?: object }>>;

/** The entity whose changes the second night shows. */
export const COMPARED = 'customers';

interface Start {
  options: Pick<StartOptions, 'crm' | 'entities' | 'pollSeconds' | 'secondNight' | 'tables' | 'updates'>;
  /** The CRM to use: the sandbox, unless the options name another. */
  crm: Pick<Deployment['crm'], 'baseUrl' | 'authUrl'>;
  endpoint: string;
  /** Default: `config/local.json`. */
  from?: string;
}

/**
 * Writes the configuration of this start: `config/local.json` with the addresses of the CRM in use. Options add to the
 * file. `--poll-seconds` is the only option that replaces values of the file.
 * @returns the file and its content
 * @throws ConfigurationError
 */
export async function writeConfiguration(dir: string, { options, crm, endpoint, from }: Start) {
  const base = readConfiguration(LOCAL_DEPLOYMENT, from, endpoint);
  const written = JSON.parse(await readFile(base.file, 'utf8'));
  const fileHosts = [...new Set([...(written.crm.fileHosts ?? []), ...(options.crm?.fileHosts ?? [])])];
  const file = join(dir, 'local.json');
  const own = {
    ...written,
    $schema: undefined,
    crm: { ...written.crm, ...crm, ...(fileHosts.length > 0 && { fileHosts }) },
    // The scope of updates matters for a real CRM only.
    customerUpdates: options.updates || (written.customerUpdates ?? !options.crm),
    polling: options.pollSeconds ? pollingOf(options.pollSeconds, base.deployment.polling) : written.polling,
    entities: withOptions(written.entities ?? {}, options),
  };
  await writeFile(file, `${JSON.stringify(own, undefined, 2)}\n`);
  return readConfiguration(LOCAL_DEPLOYMENT, file, endpoint);
}

/** Adds tables and a feed to the entities of the file. Settings of the file take precedence. */
function withOptions(inFile: Plans, { tables, secondNight, entities, crm }: Start['options']): Plans {
  const plans = { ...inFile };
  for (const entity of tables ? entities : []) {
    // The sandbox's column types fit neither another CRM nor columns that the file has chosen.
    const known = crm || inFile[entity] ? {} : (SANDBOX_TABLES[entity] ?? {});
    plans[entity] = { tables: known, ...inFile[entity] };
  }
  if (secondNight && entities.includes(COMPARED))
    plans[COMPARED] = { tables: {}, changes: { key: 'id' }, ...plans[COMPARED] };
  return plans;
}

const SANDBOX_TABLES: Partial<Record<Entity, object>> = {
  leads: { columns: { score: 'integer', createdAt: 'timestamp', nextContactDate: 'date' }, except: ['notes'] },
  customers: { columns: { birthDate: 'date', gender: 'integer' }, hash: ['idNumber'] },
};

function pollingOf(seconds: number, { deadlineSeconds }: Polling): Polling {
  return {
    firstWaitSeconds: seconds,
    largestWaitSeconds: seconds,
    createAgainSeconds: seconds,
    // The schema allows at most 500 waits, so long waits need a longer deadline.
    deadlineSeconds: Math.min(Math.max(deadlineSeconds, 10 * seconds), 500 * seconds),
  };
}
