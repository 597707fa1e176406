import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import { asStep } from '../../core/step/export-run.ts';
import { createExport } from '../../lambdas/create-export/create-export.ts';
import { writeConfiguration } from '../../local/local-configuration.ts';
import { parseOptions } from '../../local/options.ts';
import { EXPORT_ID, newState } from '../support/builders.ts';
import { composed, lambdaContext, testDeps, unclaimed } from '../support/deps.ts';
import { exportRecords } from '../support/export-records.ts';
import { fakeBucket } from '../support/fake-bucket.ts';
import { fakeCrm } from '../support/fake-crm.ts';
import { tempDir } from './support/support.ts';

const endpoint = 'http://127.0.0.1:4566';
const crm = { baseUrl: 'http://127.0.0.1:9999/api/v1', authUrl: 'http://127.0.0.1:9999/auth' };
const OTHER_CRM = ['--crm-url', crm.baseUrl, '--auth-url', crm.authUrl, '--client-id', 'me'];

type Settings = Record<string, unknown> & { fileHosts?: string[] };

/** The configuration of `npm start -- ARGS`. @param settings more of config/local.json */
async function started(args: string[] = [], { fileHosts, ...settings }: Settings = {}) {
  const dir = await tempDir();
  const from = join(dir, 'from.json');
  const file = JSON.parse(await readFile(configurationFile('local'), 'utf8'));
  await writeFile(from, JSON.stringify({ ...file, ...settings, crm: { ...file.crm, fileHosts } }));
  const options = parseOptions(args, { CRM_CLIENT_SECRET: 'the-secret' });
  return writeConfiguration(dir, { options, crm, endpoint, from });
}

test('it is config/local.json with the addresses of the CRM that is used, and customer updates', async () => {
  const base = readConfiguration('local', undefined, endpoint).deployment;
  const options = parseOptions(OTHER_CRM, { CRM_CLIENT_SECRET: 'the-secret' });
  const { file, deployment } = await writeConfiguration(await tempDir(), { options, crm, endpoint });
  expect(deployment).toEqual({ ...base, $schema: undefined, crm: { ...base.crm, ...crm } });
  expect(readConfiguration('local', file, endpoint).deployment).toEqual(deployment);
  expect(await readFile(file, 'utf8')).not.toContain('$schema');
});

const FIELDS = ['id', 'idNumber', 'city'].map((fieldName) => ({ fieldName, label: null, type: 'text' }));
const WITHOUT_ID_NUMBER = { entities: { customers: { columns: { except: ['idNumber'] } } } };

const OPTIONS = ['', '--tables', '--second-night', '--tables --second-night', '--updates', '--poll-seconds 7'];

test.for(OPTIONS)('a column that the file leaves out is never requested, with options "%s"', async (options) => {
  const args = options.split(' ').filter(Boolean);
  const { deployment } = await started(args, WITHOUT_ID_NUMBER);
  const fake = fakeCrm(['get /customers/fields', FIELDS], ['post /customers/exports', { id: EXPORT_ID }]);
  const deps = { crm: fake, read: fakeBucket().read, records: exportRecords(), claimSlot: unclaimed };
  const handler = asStep(
    'CreateExport',
    createExport,
    ...composed({ ...testDeps({ deployment }), ...deps, softwareVersion: '1.2.3' }),
  );

  await handler(newState({ entity: 'customers' }), lambdaContext());

  expect(fake.calls.at(-1)).toMatchObject({ line: 'post /customers/exports', json: { columns: ['id', 'city'] } });
});

test('customers can be updated in the sandbox unless the file says otherwise, and in another CRM if file or option say so', async () => {
  const updates = async (args: string[], settings?: Settings) => {
    const { customerUpdates, crm } = (await started(args, settings)).deployment;
    expect(crm.scopes.includes('customers:update')).toBe(customerUpdates);
    return customerUpdates;
  };

  expect(await updates([])).toBe(true);
  expect(await updates([], { customerUpdates: false })).toBe(false);
  expect(await updates(['--updates'], { customerUpdates: false })).toBe(true);
  expect(await updates(OTHER_CRM)).toBe(false);
  expect(await updates(OTHER_CRM, { customerUpdates: true })).toBe(true);
  expect(await updates([...OTHER_CRM, '--updates'])).toBe(true);
});

test('tables have types where the fields are those of the sandbox; of another CRM every column is text', async () => {
  const tables = async (...args: string[]) => {
    const { leads, meetings, customers } = (
      await started(['--tables', '--entity', 'leads', '--entity', 'meetings', ...args])
    ).deployment.entities;
    expect(meetings.tables).toMatchObject({ columns: {} });
    expect(customers.tables).toBeUndefined();
    return leads.tables;
  };

  expect(await tables()).toMatchObject({ columns: { score: 'integer' }, except: ['notes'] });
  expect(await tables(...OTHER_CRM)).toMatchObject({ columns: {} });
});

test('a second night compares customers, whose table is as --tables has it, or of text alone', async () => {
  const customersOf = async (args: string[], settings?: Settings) => {
    const { leads, customers } = (await started(['--second-night', ...args], settings)).deployment.entities;
    expect(leads.changes).toBeUndefined();
    return customers;
  };

  expect(await customersOf([])).toMatchObject({ tables: { columns: {} }, changes: { key: ['id'] } });
  expect(await customersOf(['--tables'])).toMatchObject({ tables: { hash: ['idNumber'] }, changes: { key: ['id'] } });
  const own = { tables: { hash: ['phone'] }, changes: { key: 'customerNumber' } };
  expect(await customersOf(['--tables'], { entities: { customers: own } })).toMatchObject({
    tables: { columns: {}, hash: ['phone'] },
    changes: { key: ['customerNumber'] },
  });
});

test('it is not written for a cloud that is not on this machine', async () => {
  const place = { crm, endpoint: 'https://aws.example' };
  const writing = writeConfiguration(await tempDir(), { options: parseOptions([], {}), ...place });
  await expect(writing).rejects.toThrow(/AWS_ENDPOINT_URL must name a loopback address/);
});
