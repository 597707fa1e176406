import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import { parseOptions } from '../../local/options.ts';
import { writeConfiguration } from '../../local/session.ts';
import { tempDir } from '../support/project.ts';

const endpoint = 'http://127.0.0.1:4566';
const crm = { baseUrl: 'http://127.0.0.1:9999/api/v1', authUrl: 'http://127.0.0.1:9999/auth' };
const OTHER_CRM = ['--crm-url', crm.baseUrl, '--auth-url', crm.authUrl, '--client-id', 'me'];

/** The configuration of `npm start -- ARGS`. @param settings more of config/local.json */
async function started(args: string[] = [], settings: Record<string, unknown> = {}, cloud = endpoint) {
  const dir = await tempDir();
  const from = join(dir, 'from.json');
  const file = JSON.parse(await readFile(configurationFile('local'), 'utf8'));
  await writeFile(from, JSON.stringify({ ...file, ...settings }));
  const options = parseOptions(args, { CRM_CLIENT_SECRET: 'the-secret' });
  return (await writeConfiguration(dir, options, crm, cloud, from)).deployment;
}

test('the deployed configuration is config/local.json with the addresses of the CRM', async () => {
  const base = readConfiguration('local', undefined, endpoint).deployment;
  expect(await started(OTHER_CRM)).toEqual({ ...base, $schema: undefined, crm: { ...base.crm, ...crm } });
  await expect(started([], {}, 'https://aws.example')).rejects.toThrow(/ loopback /);
});

const OPTIONS = ['', '--tables', '--second-night', '--tables --second-night', '--updates', '--poll-seconds 7'];

test.for(OPTIONS)('settings of the file are kept with the options "%s"', async (options) => {
  const columns = { except: ['idNumber'] };
  const own = { columns, tables: { hash: ['phone'] }, changes: { key: 'customerNumber' } };
  const { entities } = await started(options.split(' ').filter(Boolean), { entities: { customers: own } });
  expect(entities.customers).toMatchObject({ columns, tables: own.tables, changes: { key: ['customerNumber'] } });
});

test.each([
  ['the sandbox', [], {}, true],
  ['the sandbox with customerUpdates false in the file', [], { customerUpdates: false }, false],
  ['the sandbox with --updates and customerUpdates false in the file', ['--updates'], { customerUpdates: false }, true],
  ['another CRM', OTHER_CRM, {}, false],
  ['another CRM with customerUpdates true in the file', OTHER_CRM, { customerUpdates: true }, true],
  ['another CRM with --updates', [...OTHER_CRM, '--updates'], {}, true],
])('customer updates are on or off as expected for %s', async (_, args, settings, expected) => {
  const { customerUpdates, crm } = await started(args, settings);
  expect([customerUpdates, crm.scopes.includes('customers:update')]).toEqual([expected, expected]);
});

test('--tables adds tables, and --second-night a feed of customers', async () => {
  const some = ['--tables', '--entity', 'leads', '--entity', 'meetings'];
  const { leads, meetings, customers } = (await started(some)).entities;
  expect([leads.tables, meetings.tables, customers.tables]).toEqual(
    [{ columns: {} }, { columns: {} }, undefined].map((each) => each && expect.objectContaining(each)),
  );
  const second = (await started(['--second-night'])).entities;
  expect(second.leads.changes).toBeUndefined();
  expect(second.customers).toMatchObject({ tables: { columns: {} }, changes: { key: ['id'] } });
});
