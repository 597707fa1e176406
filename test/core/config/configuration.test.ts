import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { configurationFile, readConfiguration } from '../../../core/config/configuration.ts';
import { NETWORK } from '../../../scripts/deployments.ts';
import { tree } from '../../lib/support/files.ts';

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };
const LOOPBACK = 'http://127.0.0.1:4566';

const fileWith = (content: unknown) =>
  join(tree({ 'given.json': typeof content === 'string' ? content : JSON.stringify(content) }), 'given.json');
const read = (content: unknown, endpoint?: string) =>
  readConfiguration('given', fileWith(content), endpoint).deployment;

test('configurationFile returns config/NAME.json', () => {
  vi.stubEnv('CRM_EXPORT_CONFIG', undefined);
  expect(configurationFile('prod')).toBe('config/prod.json');
});

describe('a valid configuration', () => {
  test.each(['example', 'local'])('is config/%s.json', (name) => {
    const { deployment } = readConfiguration(name, `config/${name}.json`, LOOPBACK);

    expect(deployment.local).toBe(name === 'local');
  });

  test('requests the scope of updates, in addition to its own scopes, if customerUpdates is set', () => {
    const scopesOf = (more: object, crm: object = CRM) => read({ crm, ...more }).crm.scopes;

    expect(scopesOf({})).toEqual(['openid', 'profile', 'global:export']);
    expect(scopesOf({ customerUpdates: true })).toEqual(['openid', 'profile', 'global:export', 'customers:update']);
    expect(scopesOf({ customerUpdates: true }, { ...CRM, scopes: ['all'] })).toEqual(['all', 'customers:update']);
  });

  test('may begin with a byte order mark, and repeat a key in other objects and in texts', () => {
    const extra = { except: '"except": 1', a: { except: 2 } };
    const leads = { columns: { except: ['a'] }, tables: { except: ['b'] }, extra };

    expect(read(`\uFEFF${JSON.stringify({ crm: CRM, entities: { leads } })}`).entities.leads.extra).toEqual(extra);
  });

  test.each<[string, object, string[]]>([
    ['the host of the CRM if it names none', {}, ['crm.test']],
    ['the host of the CRM without its port', { baseUrl: 'https://CRM.test:8443/api/v1' }, ['crm.test']],
    ['exactly the hosts that it names', { fileHosts: ['f.test', '.s3.test.example'] }, ['f.test', '.s3.test.example']],
    ['those it names for an IP address', { baseUrl: 'https://192.0.2.1/api/v1', fileHosts: ['f.test'] }, ['f.test']],
  ])('takes files from %s', (_, crm, hosts) => {
    expect(read({ crm: { ...CRM, ...crm } }).crm.fileHosts).toEqual(hosts);
  });

  test('takes files only from loopback if it is local and the CRM is on loopback', () => {
    const crm = { baseUrl: 'http://localhost:8080/api/v1', authUrl: 'http://[::1]:8080' };

    expect(read({ local: true, crm }, LOOPBACK).crm.fileHosts).toEqual([]);
  });

  test.each(['crm.test', 'auth.test', 'files.test'])(
    'may call %s as a private host if it has a network or is local',
    (host) => {
      const crm = { ...CRM, fileHosts: ['files.test'], privateHosts: [host] };

      expect(read({ crm, network: NETWORK }).crm.privateHosts).toEqual([host]);
      expect(read({ crm, local: true }, LOOPBACK).crm.privateHosts).toEqual([host]);
    },
  );

  test('may describe the table of an entity, with defaults for misfit and version', () => {
    const tables = {
      columns: {
        age: 'integer',
        sum: { type: 'decimal', precision: 18, scale: 2 },
        born: { type: 'date', format: 'DD/MM/YYYY' },
      },
      except: ['notes'],
      hash: ['idNumber'],
    };
    const columns = { labels: { 'Id number': 'idNumber' } };
    const { entities } = read({ crm: CRM, entities: { leads: { columns, tables } } });

    expect(entities.leads.tables).toEqual({ ...tables, misfit: 'null', version: 1 });
  });

  test.each([
    [{ key: 'id' }, { key: ['id'], maxRemoved: 0.2 }],
    [{ key: ['id', 'branch'], ignore: ['name'], maxRemoved: 0 }, undefined],
  ])('may describe the feed of an entity: %j', (changes, complete) => {
    const leads = { columns: ['id', 'branch', 'name'], tables: {}, changes };

    expect(read({ crm: CRM, entities: { leads } }).entities.leads.changes).toEqual(complete ?? changes);
  });

  test.each([LOOPBACK, 'http://localhost:4566', 'http://[::1]:4566'])('may be local with a cloud at %s', (endpoint) => {
    const crm = { ...CRM, baseUrl: 'http://127.0.0.1:8080/api/v1' };

    expect(read({ local: true, crm }, endpoint).local).toBe(true);
  });
});

describe('readConfiguration refuses', () => {
  test.each([
    ['{\n  "crm": {\n    "baseUrl": oops\n  }\n}\n', 'line 3: write names and texts in double quotes'],
    ["{ 'secret-1234': 1 }", 'line 1: write names and texts in double quotes'],
    ['{\r\n  // hosts\r\n  "crm": {}\r\n}', 'line 2: JSON has no comments: remove this one'],
    ['{ "crm": { "scopes": ["a", ] } }', 'line 1: a value is missing, or there is a comma too many'],
    ['{ "crm": {\n}\n  "local": true }', 'line 3: a comma is missing'],
    ['{ "crm": {}', 'line 1: a closing brace is missing'],
    ['{ "crm": {} }\n}', 'line 2: the configuration has ended: remove the text that follows'],
    ['{ "crm": "C:\\secret" }', 'line 1: a backslash in a text must be written twice'],
  ])('a file that is not JSON, in one line without its content: %j', (content, says) => {
    expect(() => read(content)).toThrow(new RegExp(`given\\.json: is not JSON: (?!.*secret)${says}$`));
  });

  test('a device, which is read like the output of a command', () => {
    expect(() => readConfiguration('given', '/dev/null', undefined)).toThrow('/dev/null: is not JSON: line 1');
  });

  test('a file that is not UTF-8, in which labels would match no header', () => {
    const file = fileWith('');
    writeFileSync(file, Buffer.from(`{ "x": "\u00e9" }`, 'latin1'));
    expect(() => readConfiguration('given', file, undefined)).toThrow('given.json: is not UTF-8');
  });

  test.each([
    ['"retentionDays": 9, "retentionDays": 90', 'retentionDays'],
    ['"entities": { "leads": { "columns": { "except": ["a"] } } }, "\\u0065ntities": { "leads": {} }', 'entities'],
    ['"entities": { "leads": { "extra": { "a\\"b": "x: {", "c": "\\"c\\": 1", "a\\"b": 7 } } }', 'a"b'],
  ])('a setting that is given twice, of which JSON keeps only the last: %s', (more, name) => {
    expect(() => read(`{ "crm": ${JSON.stringify(CRM)}, ${more} }`)).toThrow(`given.json: ${name}: `);
  });

  test.each([
    undefined,
    'https://s3.eu-central-1.amazonaws.com',
    'http://127.0.0.1.example.com',
    'http://127.0.0.1@example.com',
    'http://10.0.0.1:4566',
    'rubbish',
  ])('a local configuration whose cloud is %s', (endpoint) => {
    expect(() => read({ local: true, crm: CRM }, endpoint)).toThrow(/given\.json: local: .*AWS_ENDPOINT_URL/);
  });

  test.each([undefined, 7, '', 'Upper', '../etc/passwd', 'x'.repeat(40)])('the deployment name %j', (name) => {
    expect(() => readConfiguration(name, undefined, undefined)).toThrow(/^add -c deployment=.*example, local/);
  });

  test('the name of a file that is no deployment, without listing it', () => {
    vi.stubEnv('CRM_EXPORT_CONFIG', tree({ 'Prod.json': '{}', 'dev.json': '{}', 'dev.old.json': '{}' }));
    expect(() => readConfiguration('Prod', undefined, undefined)).toThrow(/ has dev$/);
    expect(() => readConfiguration('dev', tree({}), undefined)).toThrow(/: is not a file$/);
  });

  test('a missing file, and lists the existing deployments', () => {
    expect(() => readConfiguration('absent', undefined, undefined)).toThrow(/config\/absent\.json .*example, local$/);
  });
});
