import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, readConfiguration } from '../../lib/config.ts';
import { tree } from './support/files.ts';

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };
const LOOPBACK = 'http://127.0.0.1:4566';

const fileWith = (content: unknown) =>
  join(tree({ 'given.json': typeof content === 'string' ? content : JSON.stringify(content) }), 'given.json');

/** The lines that are told about a configuration, without the path of its file. */
function complaints(content: unknown, endpoint?: string): string[] {
  const file = fileWith(content);
  try {
    readConfiguration('given', file, endpoint);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.message.split('\n').map((line) => {
      expect(line.startsWith(`${file}: `), line).toBe(true);
      return line.slice(file.length + 2);
    });
  }
  return [];
}

describe('a configuration that holds', () => {
  test.each(['example', 'local'])('is config/%s.json', (name) => {
    const { deployment, file } = readConfiguration(name, undefined, LOOPBACK);

    expect(file).toBe(`config/${name}.json`);
    expect(deployment.local).toBe(name === 'local');
  });

  test('asks for the scope of updates where it says so, whatever other scopes it names', () => {
    const scopesOf = (more: object, crm: object = CRM) =>
      readConfiguration('given', fileWith({ crm, ...more }), undefined).deployment.crm.scopes;

    expect(scopesOf({})).toEqual(['openid', 'profile', 'global:export']);
    expect(scopesOf({ customerUpdates: true })).toEqual(['openid', 'profile', 'global:export', 'customers:update']);
    expect(scopesOf({ customerUpdates: true }, { ...CRM, scopes: ['all'] })).toEqual(['all', 'customers:update']);
  });

  test('may be as short as the two addresses of the service', () => {
    const { deployment } = readConfiguration('given', fileWith({ crm: CRM }), undefined);

    expect(deployment).toMatchObject({
      timeZone: 'UTC',
      nightly: { startUtc: '01:00', spreadMinutes: 7 },
      polling: { firstWaitSeconds: 15, largestWaitSeconds: 300, deadlineSeconds: 21_600 },
      retentionDays: 90,
    });
  });

  test.each([LOOPBACK, 'http://localhost:4566', 'http://[::1]:4566'])(
    'may be local when the cloud is at %s',
    (endpoint) => {
      expect(complaints({ local: true, crm: { ...CRM, baseUrl: 'http://127.0.0.1:8080/api/v1' } }, endpoint)).toEqual(
        [],
      );
    },
  );
});

describe('a mistake is told with the path of its field', () => {
  const wrongPolling = { firstWaitSeconds: 60, largestWaitSeconds: 30, deadlineSeconds: 600 };
  test.each<[name: string, content: unknown, line: RegExp]>([
    ['a missing address', { crm: { authUrl: CRM.authUrl } }, /^crm\.baseUrl: /],
    ['http in an account', { crm: { ...CRM, baseUrl: 'http://crm.test' } }, /^crm\.baseUrl: must start with https:/],
    [
      'an address with a query',
      { crm: { ...CRM, authUrl: 'https://auth.test/?a=1' } },
      /^crm\.authUrl: must have no query/,
    ],
    [
      'an address with a user name',
      { crm: { ...CRM, baseUrl: 'https://u:p@crm.test' } },
      /^crm\.baseUrl: must have no query, no fragment and no user name/,
    ],
    [
      'two settings with one name',
      { crm: { ...CRM, operatorField: 'filters' } },
      /^crm\.operatorField: is the name of another/,
    ],
    ['a flag with the name of the operator', { crm: { ...CRM, emailField: 'filtersOperator' } }, /^crm\.emailField: /],
    ['an unknown key', { crm: CRM, retention: 3 }, /^retention: is not known$/],
    ['an unknown key inside', { crm: { ...CRM, url: 'x' } }, /^crm\.url: is not known$/],
    ['an unknown entity', { crm: CRM, entities: { lead: {} } }, /^entities\.lead: /],
    ['a scope with a space', { crm: { ...CRM, scopes: ['openid', 'a b'] } }, /^crm\.scopes\[1\]: /],
    ['no columns', { crm: CRM, entities: { leads: { columns: [] } } }, /^entities\.leads\.columns: /],
    ['a time zone that is none', { crm: CRM, timeZone: 'Mars/Base' }, /^timeZone: an IANA time zone/],
    ['a start that is no time', { crm: CRM, nightly: { startUtc: '25:00' } }, /^nightly\.startUtc: a time such as/],
    ['a negative retention', { crm: CRM, retentionDays: -1 }, /^retentionDays: /],
    ['log lines for 31 days', { crm: CRM, logRetentionDays: 31 }, /^logRetentionDays: /],
    ['waits that shrink', { crm: CRM, polling: wrongPolling }, /^polling\.firstWaitSeconds: must not be above/],
    [
      'a deadline of too many waits',
      { crm: CRM, polling: { firstWaitSeconds: 1, largestWaitSeconds: 2, deadlineSeconds: 1001 } },
      /^polling\.deadlineSeconds: must be at most 500 times/,
    ],
    [
      'a deadline of one entity that the common waits do not allow',
      {
        crm: CRM,
        polling: { firstWaitSeconds: 1, largestWaitSeconds: 2, deadlineSeconds: 900 },
        entities: { leads: { polling: { deadlineSeconds: 1001 } } },
      },
      /^entities\.leads\.polling\.deadlineSeconds: must be at most 500 times/,
    ],
    [
      'a deadline of more than a day',
      { crm: CRM, polling: { deadlineSeconds: 90_000 } },
      /^polling\.deadlineSeconds: /,
    ],
    [
      'a wait of no seconds for one entity',
      { crm: CRM, entities: { leads: { polling: { firstWaitSeconds: 0 } } } },
      /^entities\.leads\.polling\.firstWaitSeconds: /,
    ],
    [
      'an extra key that has a setting',
      { crm: CRM, entities: { leads: { extra: { columns: ['id'] } } } },
      /^entities\.leads\.extra\.columns: has a setting of its own/,
    ],
    [
      'an extra key that carries the operator',
      { crm: { ...CRM, operatorField: 'operator' }, entities: { leads: { extra: { operator: 'or' } } } },
      /^entities\.leads\.extra\.operator: has a setting of its own/,
    ],
    [
      'a schedule that is no expression',
      { crm: CRM, entities: { leads: { schedule: '0 1 * * *' } } },
      /^entities\.leads\.schedule: must be an EventBridge expression/,
    ],
    ['an array in place of the object', [], /^\(whole file\): /],
  ])('%s', (_, content, line) => {
    const [first, ...others] = complaints(content);

    expect(first).toMatch(line);
    expect(others).toEqual([]);
  });

  test('a file that is not JSON, in one line', () => {
    const lines = complaints('{\n  "crm": {\n    "baseUrl": oops\n  }\n}\n');

    expect(lines).toEqual([expect.stringMatching(/^is not JSON: /)]);
  });

  test.each([undefined, 'https://s3.eu-central-1.amazonaws.com', 'http://127.0.0.1.example.com', 'rubbish'])(
    'a local configuration whose cloud is %s',
    (endpoint) => {
      expect(complaints({ local: true, crm: CRM }, endpoint)).toEqual([
        expect.stringMatching(/^local: is true, so AWS_ENDPOINT_URL must name a loopback address/),
      ]);
    },
  );

  test.each([undefined, 7, '', 'Upper', '../etc/passwd', 'x'.repeat(40)])('the deployment name %j', (name) => {
    expect(() => readConfiguration(name, undefined, undefined)).toThrow(/^no deployment is named: .*example, local/);
  });

  test('a file that is not there, with those that are', () => {
    expect(() => readConfiguration('absent', undefined, undefined)).toThrow(
      'config/absent.json does not exist; there are example, local',
    );
  });
});

describe('several mistakes', () => {
  test('are all told at once', () => {
    const lines = complaints({
      crm: { baseUrl: 'crm', authUrl: CRM.authUrl, secret: 'x' },
      timeZone: 'Mars/Base',
      retentionDays: 0,
      entities: { leads: { columns: [] }, lead: {} },
    });

    expect([...new Set(lines.map((line) => line.split(': ')[0]))].sort()).toEqual([
      'crm.baseUrl',
      'crm.secret',
      'entities.lead',
      'entities.leads.columns',
      'retentionDays',
      'timeZone',
    ]);
  });

  test('that only several fields together show are all told at once, each once', () => {
    const lines = complaints({
      crm: { baseUrl: 'http://crm.test', authUrl: 'http://auth.test' },
      polling: { firstWaitSeconds: 9, largestWaitSeconds: 3, deadlineSeconds: 9000 },
    });

    expect(lines.map((line) => line.split(': ')[0])).toEqual([
      'crm.baseUrl',
      'crm.authUrl',
      'polling.firstWaitSeconds',
      'polling.deadlineSeconds',
    ]);
  });
});

describe('the app', () => {
  test('ends with code 2 and a line for each mistake, the file and the field in it', async () => {
    const file = fileWith({ crm: { authUrl: CRM.authUrl }, retention: 3 });

    const { code, stderr, stdout } = await app({ deployment: 'given', configuration: file });

    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^ConfigInvalid: .*\/given\.json: crm\.baseUrl: /),
      `ConfigInvalid: ${file}: retention: is not known`,
    ]);
  });

  test('ends with code 2 when no deployment is named', async () => {
    const { code, stderr } = await app({});

    expect(code).toBe(2);
    expect(stderr).toMatch(/^ConfigInvalid: no deployment is named: add -c deployment=NAME, one of example, local/);
  });

  test('synthesises the deployment that is named', async () => {
    const { code, stderr } = await app({ deployment: 'example' });

    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});

/** Runs bin/app.ts as the CDK CLI does, without bundling. */
function app(context: Record<string, unknown>): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    ...process.env,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, 'aws:cdk:bundling-stacks': [] }),
    CDK_OUTDIR: tree({}),
  };
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/app.ts'], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}
