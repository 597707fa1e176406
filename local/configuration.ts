import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfiguration } from '../core/config/configuration.ts';
import type { Deployment } from '../core/config/deployment.ts';
import type { Entity } from '../core/config/entities.ts';
import type { Polling } from '../core/config/entity-settings.ts';
import type { StartOptions } from './options.ts';

/** The name under which everything is deployed locally. */
export const LOCAL_DEPLOYMENT = 'local';

type Plans = Partial<Record<Entity, { tables?: object; changes?: object }>>;

/** Of these a second night shows what has changed. */
export const COMPARED = 'customers';

interface Start {
  options: Pick<StartOptions, 'crm' | 'entities' | 'pollSeconds' | 'secondNight' | 'tables' | 'updates'>;
  /** The CRM of this start: the sandbox, unless the options name another. */
  crm: Pick<Deployment['crm'], 'baseUrl' | 'authUrl'>;
  endpoint: string;
  /** Default: `config/local.json`. */
  from?: string;
}

/**
 * Writes the configuration of this start: `config/local.json` with the addresses of the CRM that is used now. Options add to
 * the file. They replace only the waits, which `--poll-seconds` names.
 * @returns the file, and what it says
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

/** Adds tables and a feed to the entities of the file. What the file says of an entity stays. */
function withOptions(inFile: Plans, { tables, secondNight, entities, crm }: Start['options']): Plans {
  const plans = { ...inFile };
  for (const entity of tables ? entities : []) {
    // The types of the sandbox fit neither the fields of another CRM nor columns that the file has chosen.
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
    // The schema allows no more than 500 waits, and long waits need a deadline that leaves room for some.
    deadlineSeconds: Math.min(Math.max(deadlineSeconds, 10 * seconds), 500 * seconds),
  };
}
