import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ConfigurationError, readConfiguration } from '../../core/config/configuration.ts';
import { tablesOf, withFeed, writeConfiguration } from '../../local/configuration.ts';
import { tempDir } from './support/support.ts';

const endpoint = 'http://127.0.0.1:4566';
const crm = { baseUrl: 'http://127.0.0.1:9999/api/v1', authUrl: 'http://127.0.0.1:9999/auth' };

test('it is config/local.json with the addresses of the CRM that is used', async () => {
  const base = readConfiguration('local', undefined, endpoint).deployment;
  const { file, deployment } = await writeConfiguration(await tempDir(), { crm, endpoint });
  expect(deployment).toEqual({ ...base, $schema: undefined, crm: { ...base.crm, ...crm } });
  expect(readConfiguration('local', file, endpoint).deployment).toEqual(deployment);
  expect(await readFile(file, 'utf8')).not.toContain('$schema');
});

test('with updates there is a machine for them, and their scope', async () => {
  const { deployment } = await writeConfiguration(await tempDir(), { crm, endpoint, updates: true });
  expect(deployment.customerUpdates).toBe(true);
  expect(deployment.crm.scopes).toContain('customers:update');
  expect((await writeConfiguration(await tempDir(), { crm, endpoint })).deployment.customerUpdates).toBe(false);
});

test('tables have types where the fields are those of the sandbox; of another CRM every column is text', async () => {
  const tables = async (ofSandbox: boolean) => {
    const wanted = tablesOf(['leads', 'meetings'], ofSandbox);
    const { deployment } = await writeConfiguration(await tempDir(), { crm, endpoint, entities: wanted });
    const { leads, meetings, customers } = deployment.entities;
    expect(meetings.tables).toMatchObject({ columns: {} });
    expect(customers.tables).toBeUndefined();
    return leads.tables;
  };

  expect(await tables(true)).toMatchObject({ columns: { score: 'integer' }, except: ['notes'] });
  expect(await tables(false)).toMatchObject({ columns: {} });
});

test('a second night compares customers, whose table is as --tables has it, or of text alone', async () => {
  const customersOf = async (plans: ReturnType<typeof tablesOf>) => {
    const { deployment } = await writeConfiguration(await tempDir(), { crm, endpoint, entities: withFeed(plans) });
    expect(deployment.entities.leads.changes).toBeUndefined();
    return deployment.entities.customers;
  };

  expect(await customersOf({})).toMatchObject({ tables: { columns: {} }, changes: { key: ['id'] } });
  expect(await customersOf(tablesOf(['leads', 'customers'], true))).toMatchObject({
    tables: { hash: ['idNumber'] },
    changes: { key: ['id'] },
  });
});

test.for([1, 7, 3600])(
  'waits of %i seconds are first and largest, and come before a second create, within what the schema allows',
  async (pollSeconds) => {
    const { deployment } = await writeConfiguration(await tempDir(), { crm, pollSeconds, endpoint });
    const waits = { firstWaitSeconds: pollSeconds, largestWaitSeconds: pollSeconds, createAgainSeconds: pollSeconds };
    expect(deployment.polling).toMatchObject(waits);
    expect(deployment.polling.deadlineSeconds).toBeLessThanOrEqual(500 * pollSeconds);
  },
);

test('an address that a deployment refuses is named with its field', async () => {
  const wrong = { ...crm, baseUrl: 'http://127.0.0.1:9999/api/v1?tenant=1' };
  const writing = writeConfiguration(await tempDir(), { crm: wrong, endpoint });
  await expect(writing).rejects.toThrow(ConfigurationError);
  await expect(writing).rejects.toThrow(/local\.json: crm\.baseUrl: must have no query, no fragment and no user name$/);
});

test('it is not written for a cloud that is not on this machine', async () => {
  const writing = writeConfiguration(await tempDir(), { crm, endpoint: 'https://aws.example' });
  await expect(writing).rejects.toThrow(/AWS_ENDPOINT_URL must name a loopback address/);
});
