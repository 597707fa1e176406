import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError, configurationFile, readConfiguration } from '../../../core/config/configuration.ts';
import { tree } from '../../lib/support/files.ts';

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };
const LOOPBACK = 'http://127.0.0.1:4566';

const fileWith = (content: unknown) =>
  join(tree({ 'given.json': typeof content === 'string' ? content : JSON.stringify(content) }), 'given.json');

/** A configuration with a table for leads. */
const tables = (settings: object, columns: unknown = 'all') => ({
  crm: CRM,
  entities: { leads: { columns, tables: settings } },
});

/** The problems of a configuration, without the path of its file. */
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

test('the file of a deployment is in config/ of the checkout', () => {
  vi.stubEnv('CRM_EXPORT_CONFIG', undefined);
  expect(configurationFile('prod')).toBe('config/prod.json');
});

describe('a configuration that holds', () => {
  test.each(['example', 'local'])('is config/%s.json', (name) => {
    const { deployment } = readConfiguration(name, `config/${name}.json`, LOOPBACK);

    expect(deployment.local).toBe(name === 'local');
  });

  test('asks for the scope of updates where it says so, whatever other scopes it names', () => {
    const scopesOf = (more: object, crm: object = CRM) =>
      readConfiguration('given', fileWith({ crm, ...more }), undefined).deployment.crm.scopes;

    expect(scopesOf({})).toEqual(['openid', 'profile', 'global:export']);
    expect(scopesOf({ customerUpdates: true })).toEqual(['openid', 'profile', 'global:export', 'customers:update']);
    expect(scopesOf({ customerUpdates: true }, { ...CRM, scopes: ['all'] })).toEqual(['all', 'customers:update']);
  });

  test('may be as short as the two addresses of the CRM', () => {
    const { deployment } = readConfiguration('given', fileWith({ crm: CRM }), undefined);

    expect(deployment).toMatchObject({
      timeZone: 'UTC',
      nightly: { spreadMinutes: 7 },
      polling: { firstWaitSeconds: 15, largestWaitSeconds: 300, deadlineSeconds: 21_600, createAgainSeconds: 300 },
      retentionDays: 90,
      tableMemoryMB: 1769,
      files: {
        maxBytes: 21_474_836_480,
        allowUndeclaredEnd: false,
        connections: { most: 8 },
      },
      customerUpdates: false,
      updates: { concurrency: 8, maxRate: 20, retentionDays: 30, allowNull: false },
      logRetentionDays: 365,
      alarms: { email: [], runbookUrl: 'docs/runbook.md' },
    });
  });

  test.each<[string, object, string[]]>([
    ['the host of the CRM where it names none', {}, ['crm.test']],
    ['that host without its port', { baseUrl: 'https://CRM.test:8443/api/v1' }, ['crm.test']],
    [
      'exactly those that it names',
      { fileHosts: ['files.test', '.s3.test.example'] },
      ['files.test', '.s3.test.example'],
    ],
    [
      'those of a CRM that has an IP address',
      { baseUrl: 'https://192.0.2.1/api/v1', fileHosts: ['f.test'] },
      ['f.test'],
    ],
  ])('takes files from %s', (_, crm, hosts) => {
    const { deployment } = readConfiguration('given', fileWith({ crm: { ...CRM, ...crm } }), undefined);

    expect(deployment.crm.fileHosts).toEqual(hosts);
  });

  test('takes files from no host but loopback where it is local and the CRM is on loopback', () => {
    const crm = { baseUrl: 'http://localhost:8080/api/v1', authUrl: 'http://[::1]:8080' };
    const { deployment } = readConfiguration('given', fileWith({ local: true, crm }), LOOPBACK);

    expect(deployment.crm.fileHosts).toEqual([]);
  });

  test('may describe the table of an entity, whose columns are text, without a value that does not fit', () => {
    const given = {
      columns: {
        age: 'integer',
        sum: { type: 'decimal', precision: 18, scale: 2 },
        born: { type: 'date', format: 'DD/MM/YYYY' },
      },
      except: ['notes'],
      hash: ['idNumber'],
    };
    const { deployment } = readConfiguration('given', fileWith(tables(given)), undefined);

    expect(deployment.entities.leads?.tables).toEqual({
      ...given,
      misfit: 'null',
      version: 1,
    });
    expect(complaints(tables({}))).toEqual([]);
    expect(complaints({ crm: CRM, entities: { leads: {} } })).toEqual([]);
  });

  test('may want fewer or more connections than by default, and the smallest and largest file', () => {
    const files = (connections: object, maxBytes: number) => ({ crm: CRM, files: { connections, maxBytes } });

    expect(complaints(files({ most: 1 }, 1))).toEqual([]);
    expect(complaints(files({ most: 16 }, 53_687_091_200))).toEqual([]);
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

describe('a mistake is reported with the path of its field', () => {
  const wrongPolling = { firstWaitSeconds: 60, largestWaitSeconds: 30, deadlineSeconds: 600 };
  test.each<[name: string, content: unknown, line: RegExp]>([
    ['a missing address', { crm: { authUrl: CRM.authUrl } }, /^crm\.baseUrl: /],
    [
      'http in an account',
      { crm: { ...CRM, baseUrl: 'http://crm.test/api/v1' } },
      /^crm\.baseUrl: must start with https:/,
    ],
    [
      'a base address without the version of the interface',
      { crm: { ...CRM, baseUrl: 'https://crm.test' } },
      /^crm\.baseUrl: must end in \/api\/v1: write the address from which all paths start, such as "https:\/\/crm\.example\.com\/api\/v1"$/,
    ],
    [
      'the address of the consent page in place of the one before it',
      { crm: { ...CRM, authUrl: 'https://auth.test/authorize/' } },
      /^crm\.authUrl: must not end in \/authorize: write the address before it, such as "https:\/\/auth\.example\.com"$/,
    ],
    [
      'a required column that is left out',
      { crm: CRM, entities: { leads: { columns: { except: ['phone', 'id'], required: ['id'] } } } },
      /^entities\.leads\.columns\.required: names "id", which `except` leaves out$/,
    ],
    [
      'a column to be left out whose name is none',
      { crm: CRM, entities: { leads: { columns: { except: ['national id\n'] } } } },
      /^entities\.leads\.columns\.except: must be plain names or labels of columns$/,
    ],
    [
      'a filter by a column that is left out',
      {
        crm: CRM,
        entities: { leads: { columns: { except: ['nationalId'] }, filters: [{ field: 'nationalId', value: 1 }] } },
      },
      /^entities\.leads\.filters: names "nationalId", which `columns\.except` leaves out$/,
    ],
    [
      'a policy that is none',
      { crm: CRM, entities: { leads: { drift: { added: 'ignore' } } } },
      /^entities\.leads\.drift\.added: .*"accept"\|"warn"\|"stop"$/,
    ],
    [
      'a type of a column that is none',
      tables({ columns: { phone: 'varchar' } }),
      /^entities\.leads\.tables\.columns\.phone: must be "text", "integer"/,
    ],
    [
      'a decimal whose digits behind the point are more than all its digits',
      tables({ columns: { sum: { type: 'decimal', precision: 4, scale: 5 } } }),
      /^entities\.leads\.tables\.columns\.sum: must be /,
    ],
    [
      'a form of dates that is not known',
      tables({ columns: { born: { type: 'date', format: 'YY/M/D' } } }),
      /^entities\.leads\.tables\.columns\.born: must be /,
    ],
    [
      'a column of a table that is both hashed and left out',
      tables({ hash: ['phone'], except: ['phone'] }),
      /^entities\.leads\.tables\.hash: names "phone", which `except` leaves out of the table$/,
    ],
    [
      'a column of a table that is both hashed and typed',
      tables({ hash: ['phone'], columns: { phone: 'integer' } }),
      /^entities\.leads\.tables\.hash: names "phone", which `columns` gives a type/,
    ],
    ...(['except', 'hash'] as const).map((key): [string, object, RegExp] => [
      `a column of \`tables.${key}\` beside files without a header`,
      tables({ [key]: ['phone'] }, { header: 'none' }),
      new RegExp(`^entities\\.leads\\.tables\\.${key}: names "phone", which files without a header \\(`),
    ]),
    [
      'a column that a table leaves out twice',
      tables({ except: ['phone', 'phone'] }),
      /^entities\.leads\.tables\.except: names a column twice$/,
    ],
    [
      'a type of a column that is left out everywhere',
      tables({ columns: { phone: 'integer' } }, { except: ['phone'] }),
      /^entities\.leads\.tables\.columns: names "phone", which `columns\.except` of the entity leaves out$/,
    ],
    [
      'a hash of a column that is not requested',
      tables({ hash: ['phone'] }, ['id']),
      /^entities\.leads\.tables\.hash: names "phone", which `columns` of the entity does not request$/,
    ],
    ['a table-writing function without memory', { crm: CRM, tableMemoryMB: 128 }, /^tableMemoryMB: /],
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
    ['an unknown key', { crm: CRM, retention: 3 }, /^retention: is not known \(did you mean "retentionDays"\?\)$/],
    ['a typing error', { crm: CRM, entites: {} }, /^entites: is not known \(did you mean "entities"\?\)$/],
    [
      'a typing error in one of several forms',
      { crm: CRM, entities: { leads: { columns: { exept: ['a'] } } } },
      /^entities\.leads\.columns.*did you mean "except"/,
    ],
    ['an unknown key inside', { crm: { ...CRM, url: 'x' } }, /^crm\.url: is not known$/],
    ['an unknown entity', { crm: CRM, entities: { lead: {} } }, /^entities\.lead: /],
    ['a scope with a space', { crm: { ...CRM, scopes: ['openid', 'a b'] } }, /^crm\.scopes\[1\]: /],
    ['no chunk at a time', { crm: CRM, updates: { concurrency: 0 } }, /^updates\.concurrency: /],
    ['more chunks at a time than 40', { crm: CRM, updates: { concurrency: 41 } }, /^updates\.concurrency: /],
    ['a rate of nothing', { crm: CRM, updates: { maxRate: 0 } }, /^updates\.maxRate: /],
    ['a rate that is no number', { crm: CRM, updates: { maxRate: '20' } }, /^updates\.maxRate: /],
    [
      'batches kept for no longer than one may be under way',
      { crm: CRM, updates: { retentionDays: 3 } },
      /^updates\.retentionDays: /,
    ],
    ['an address that is none', { crm: CRM, alarms: { email: ['night watch'] } }, /^alarms\.email\[0\]: /],
    ['an address twice', { crm: CRM, alarms: { email: ['a@b.test', 'a@b.test'] } }, /^alarms\.email: names an address/],
    ['an alarm at once', { crm: CRM, alarms: { freshnessHours: 0 } }, /^alarms\.freshnessHours: /],
    ['an alarm after more than a week', { crm: CRM, alarms: { freshnessHours: 169 } }, /^alarms\.freshnessHours: /],
    ['a runbook with a place in it', { crm: CRM, alarms: { runbookUrl: 'a.md#b' } }, /^alarms\.runbookUrl: /],
    ['days of logs that AWS does not know', { crm: CRM, logRetentionDays: 100 }, /^logRetentionDays: /],
    [
      'a date that is none, deep in a filter',
      { crm: CRM, entities: { leads: { filters: [{}, { value: [{ $date: 'yesterday' }] }] } } },
      /^entities\.leads\.filters\[1\]\.value\[0\]: must be \{"\$date": "day-1d"/,
    ],
    [
      'a date in a key that is sent as it is',
      { crm: CRM, entities: { leads: { extra: { range: { from: { $date: 'day' } } } } } },
      /^entities\.leads\.extra\.range\.from: holds a "\$date", which only `filters` may$/,
    ],
    [
      'a date in a sorting',
      { crm: CRM, entities: { leads: { sorts: [{ field: { $date: 'day' } }] } } },
      /^entities\.leads\.sorts\[0\]\.field: holds a "\$date"/,
    ],
    ['no columns', { crm: CRM, entities: { leads: { columns: [] } } }, /^entities\.leads\.columns: /],
    ['a time zone that is none', { crm: CRM, timeZone: 'Mars/Base' }, /^timeZone: an IANA time zone/],
    ['a local start that is no time', { crm: CRM, nightly: { at: '25:00' } }, /^nightly\.at: a time such as/],
    ['starts that go backwards', { crm: CRM, nightly: { spreadMinutes: -1 } }, /^nightly\.spreadMinutes: /],
    [
      'a local start of one entity that is none',
      { crm: CRM, entities: { leads: { at: '2:00' } } },
      /^entities\.leads\.at: /,
    ],
    [
      'a local start beside a schedule',
      { crm: CRM, entities: { leads: { at: '02:00', schedule: 'rate(1 day)' } } },
      /^entities\.leads\.at: excludes `schedule`/,
    ],
    ['a negative retention', { crm: CRM, retentionDays: -1 }, /^retentionDays: /],
    ['log lines for 31 days', { crm: CRM, logRetentionDays: 31 }, /^logRetentionDays: /],
    ['no time for a create', { crm: { ...CRM, createTimeoutSeconds: 4 } }, /^crm\.createTimeoutSeconds: /],
    ['more than a function has', { crm: { ...CRM, createTimeoutSeconds: 601 } }, /^crm\.createTimeoutSeconds: /],
    [
      'a second create while a CRM is still being started',
      { crm: CRM, polling: { createAgainSeconds: 299 } },
      /^polling\.createAgainSeconds: must be at least 300/,
    ],
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
    ...[
      'https://files.test',
      'files.test:443',
      'files.test/x',
      'Files.test',
      'files.test.',
      '*.files.test',
      'user@files.test',
      'localhost',
      '.test',
      '..files.test',
      '-files.test',
      'files-.test',
      'fi_les.test',
      'fïles.test',
      `${'a'.repeat(64)}.test`,
      '192.0.2.1',
      '.2.1',
      '0xc0.0.2.0x1',
      '[::1]',
      '.',
      '',
    ].map((host): [string, object, RegExp] => [
      `files from "${host}"`,
      { crm: { ...CRM, fileHosts: ['files.test', host] } },
      /^crm\.fileHosts\[1\]: must be a host name in lower case, such as "files\.example\.com", or "\.files/,
    ]),
    [
      'a CRM at an IP address whose files come from nowhere',
      { crm: { ...CRM, baseUrl: 'https://192.0.2.1/api/v1' } },
      /^crm\.fileHosts: must name the hosts that files come from, such as \["files\.example\.com"\]/,
    ],
    ['files without a byte', { crm: CRM, files: { maxBytes: 0 } }, /^files\.maxBytes: /],
    [
      'files that no invocation can check',
      { crm: CRM, files: { maxBytes: 53_687_091_201 } },
      /^files\.maxBytes: must be at most 53687091200 \(50 GiB\), .*: write 53687091200 or less, or remove it for 20 GiB$/,
    ],
    ['a size in words', { crm: CRM, files: { maxBytes: '100 GiB' } }, /^files\.maxBytes: /],
    ['an unknown key of files', { crm: CRM, files: { parts: 3 } }, /^files\.parts: is not known$/],
    ['a flag that is none', { crm: CRM, files: { allowUndeclaredEnd: 'no' } }, /^files\.allowUndeclaredEnd: /],
    ['no connection', { crm: CRM, files: { connections: { most: 0 } } }, /^files\.connections\.most: /],
    ['17 connections', { crm: CRM, files: { connections: { most: 17 } } }, /^files\.connections\.most: /],
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

  test.each([
    undefined,
    '',
    'https://s3.eu-central-1.amazonaws.com',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'http://127.0.0.1@example.com',
    'http://example.com/127.0.0.1',
    'http://10.0.0.1:4566',
    'http://169.254.169.254',
    'http://0.0.0.0:4566',
    'rubbish',
  ])('a local configuration whose cloud is %s', (endpoint) => {
    expect(complaints({ local: true, crm: CRM }, endpoint)).toEqual([
      expect.stringMatching(/^local: is true, so AWS_ENDPOINT_URL must name a loopback address/),
    ]);
  });

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
  test('are all reported at once', () => {
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

  test('that only several fields together show are all reported at once, each once', () => {
    const lines = complaints({
      crm: { baseUrl: 'http://crm.test/api/v1', authUrl: 'http://auth.test' },
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
      `ConfigInvalid: ${file}: retention: is not known (did you mean "retentionDays"?)`,
    ]);
  });

  test('ends with code 2 when no deployment is named', async () => {
    const { code, stderr } = await app({});

    expect(code).toBe(2);
    expect(stderr).toMatch(/^ConfigInvalid: no deployment is named: add -c deployment=NAME, one of example, local/);
  });
});

/** Runs bin/app.ts as the CDK CLI does. `test/lib/file-modes.slow.test.ts` covers the named deployment. */
function app(context: Record<string, unknown>): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    ...process.env,
    CDK_CONTEXT_JSON: JSON.stringify(context),
    CDK_OUTDIR: tree({}),
  };
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/app.ts'], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

describe('readers in other accounts', () => {
  const reading = (reader: object, entities: object = { leads: { tables: {} } }) => ({
    crm: CRM,
    entities,
    readers: [{ principal: '444455556666', entities: ['leads'], of: ['tables'], ...reader }],
  });
  const NO_PRINCIPAL =
    'readers[0].principal: must be an account ("444455556666"), the ARN of a role ("arn:aws:iam::444455556666:role/NAME", no user, session or wildcard) or {"organization": "o-…"}';

  test.each([
    '444455556666',
    'arn:aws:iam::444455556666:role/analyst',
    'arn:aws:iam::444455556666:role/aws-reserved/sso.amazonaws.com/eu-central-1/AWSReservedSSO_Data_0123456789abcdef',
    'arn:aws-us-gov:iam::444455556666:role/a+b=c,d.e@f',
    { organization: 'o-a1b2c3d4e5' },
  ])('may be %j', (principal) => {
    expect(complaints(reading({ principal }))).toEqual([]);
  });

  test.each([
    '4444-5555-6666',
    444455556666,
    '*',
    'analyst',
    'arn:aws:iam::444455556666:root',
    'arn:aws:iam::444455556666:user/dana',
    'arn:aws:iam::444455556666:role/*',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of a policy.
    'arn:aws:iam::444455556666:role/${aws:username}',
    'arn:aws:sts::444455556666:assumed-role/analyst/dana',
    null,
  ])('are no principal as %j', (principal) => {
    expect(complaints(reading({ principal }))).toEqual([NO_PRINCIPAL]);
  });

  test.each<[object, string]>([
    [{ entities: ['lead'] }, 'readers[0].entities: must be "all" or a list of leads, agent-numbers'],
    [{ entities: [] }, 'readers[0].entities: names no entity'],
    [{ of: [] }, 'readers[0].of: names neither "tables" nor "files"'],
    [
      { principal: { organization: 'ou-a1b2' } },
      'readers[0].principal.organization: must be the id of an organization',
    ],
    [{ principal: { organization: 'o-a1b2c3d4e5', account: '1' } }, 'readers[0].principal.account: is not known'],
    [{ of: ['manifests'] }, 'readers[0].of[0]: '],
    [{ entities: ['leads', 'contacts'] }, 'readers[0].entities: names contacts, which has no `tables`'],
    [{ until: 'today' }, 'readers[0].until: is not known'],
  ])('with %j are refused in one sentence', (reader, sentence) => {
    const found = complaints(reading(reader));

    expect(found).toHaveLength(1);
    expect(found[0]?.startsWith(sentence), found[0]).toBe(true);
  });

  test('of all tables are refused where there is none, of all files they are not', () => {
    expect(complaints(reading({ entities: 'all' }, {}))).toEqual([
      'readers[0].entities: names tables, which no entity has',
    ]);
    expect(complaints(reading({ entities: 'all', of: ['files'] }, {}))).toEqual([]);
  });
});
