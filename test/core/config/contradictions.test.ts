import { describe, expect, test } from 'vitest';
import { configurationProblems } from '../../../core/config/configuration.ts';
import { NETWORK } from '../../../scripts/deployments.ts';
import { expectTexts } from '../../support/screen.ts';

/** Settings that are refused, each with the one line that names the setting and the mistake. Bounds: config/schema.json. */

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };

const crm = (settings: object) => ({ crm: { ...CRM, ...settings } });
const more = (settings: object) => ({ crm: CRM, ...settings });
const leads = (settings: object) => more({ entities: { leads: settings } });
const columns = (settings: object, others: object = {}) => leads({ columns: settings, ...others });
const tables = (settings: object, of: unknown = 'all') => leads({ columns: of, tables: settings });
const feed = (changes: object, settings: object = {}) =>
  leads({ columns: ['id', 'name'], tables: {}, ...settings, changes });
const opaque = (settings: object) => leads({ ...settings, opaque: ['json'] });
const network = (part: object) => more({ network: { ...NETWORK, ...part } });
const reading = (reader: object, entities: object = { leads: { tables: {} } }) =>
  more({ entities, readers: [{ principal: '444455556666', entities: ['leads'], of: ['tables'], ...reader }] });
const dated = [{ field: 'updatedAt', from: { $date: 'day-1d' } }];
const TWO_SECONDS = { firstWaitSeconds: 1, largestWaitSeconds: 2 };

/** Each configuration has one mistake. */
const REFUSED: Record<string, unknown[]> = {
  'the whole file and unknown settings': [
    [],
    more({ retention: 3 }),
    more({ entites: {} }),
    crm({ url: 'x' }),
    more({ nightly: { time: '01:00' } }),
    more({ baseUrl: 'x' }),
    more({ entities: { lead: {} } }),
    more({ entities: { agentNumbers: {} } }),
    leads({ columns: { exept: ['a'] } }),
    leads({ timeZone: 'UTC' }),
    leads({ hash: ['a'] }),
    reading({ principal: { organization: 'o-a1b2c3d4e5', account: '1' } }),
    reading({ until: 'today' }),
    more({ '\u001b[31m\n': 1 }),
    tables({ columns: { a: { type: 'date', format: 'YYYYMMDD', x: 1 } } }),
    more({ retentionDays: 0.5 }),
    more({ logRetentionDays: 2 }),
    more({ local: 'true' }),
  ],
  'the CRM and its network': [
    { crm: { authUrl: CRM.authUrl } },
    crm({ baseUrl: 'http://crm.test/api/v1' }),
    crm({ baseUrl: 'https://crm.test' }),
    crm({ baseUrl: 'https://u:p@crm.test' }),
    crm({ authUrl: 'https://auth.test/authorize/' }),
    crm({ authUrl: 'https://auth.test/oauth/token' }),
    crm({ authUrl: 'https://auth.test/?a=1' }),
    ...['columns', 'sorts', 'filters'].flatMap((name) => [crm({ operatorField: name }), crm({ emailField: name })]),
    crm({ emailField: 'filtersOperator' }),
    crm({ scopes: ['openid', 'a b'] }),
    crm({ baseUrl: 'https://192.0.2.1/api/v1' }),
    network({ vpcId: 'production' }),
    network({ subnetIds: ['sg-0123456789abcdef0'] }),
    network({ subnetIds: NETWORK.subnetIds[0] }),
    network({ subnetIds: [...NETWORK.subnetIds, ...NETWORK.subnetIds] }),
    { ...crm({ privateHosts: ['file.test'] }), network: NETWORK },
    crm({ privateHosts: ['crm.test'] }),
  ],
  'alarms, times, files and waits': [
    more({ alarms: { email: ['a@b.test', 'a@b.test'] } }),
    more({ alarms: { runbookUrl: 'a.md#b' } }),
    more({ timeZone: 'Mars/Base' }),
    more({ timeZone: 'IST' }),
    more({ nightly: { at: '25:00' } }),
    more({ files: { maxBytes: 53_687_091_201 } }),
    more({ files: { formats: ['csv', 'xls'] } }),
    more({ polling: { createAgainSeconds: 299 } }),
    more({ polling: { firstWaitSeconds: 60, largestWaitSeconds: 30, deadlineSeconds: 600 } }),
    more({ polling: { firstWaitSeconds: 9, deadlineSeconds: 8 } }),
    more({ polling: { ...TWO_SECONDS, deadlineSeconds: 1001 } }),
    more({
      polling: { ...TWO_SECONDS, deadlineSeconds: 900 },
      entities: { leads: { polling: { deadlineSeconds: 1001 } } },
    }),
    leads({ at: '02:00', schedule: 'rate(1 day)' }),
    leads({ schedule: '0 1 * * *' }),
  ],
  'the request': [
    leads({ extra: { columns: ['id'] } }),
    { ...crm({ operatorField: 'operator' }), entities: { leads: { extra: { operator: 'or' } } } },
    leads({ filters: [{}, { value: [{ $date: 'yesterday' }] }] }),
    leads({ extra: { range: { from: { $date: 'day' } } } }),
    leads({ sorts: [{ field: { $date: 'day' } }] }),
    leads({ filters: [{ value: { $Date: 'day' } }] }),
  ],
  columns: [
    leads({ columns: 'ALL' }),
    leads({ columns: ['a', 7] }),
    leads({ columns: ['a', 'b', 'a'] }),
    leads({ columns: [] }),
    columns({ except: 'a' }),
    columns({ only: ['id', 'id'] }),
    columns({ except: ['national id\n'] }),
    columns({ only: ['ID_number'], except: ['idNumber'] }),
    columns({ except: ['phone', 'id'], required: ['Id'] }),
    columns({ only: ['id'], required: ['name'] }),
    columns({ except: ['idNumber'], labels: { 'lead.ID_NUMBER.text': null } }),
    columns({ labels: { '--': 'a' } }),
    columns({ header: 'none', except: ['id'] }),
    columns({ header: 'none', labels: { A: 'a' } }),
    columns({ except: ['nationalId'] }, { filters: [{ field: 'nationalId', value: 1 }] }),
    columns({ except: ['nationalId'] }, { sorts: [{ field: 'nationalId' }] }),
  ],
  tables: [
    tables({ columns: { phone: 'varchar' } }),
    tables({ columns: { a: { type: 'decimal', precision: 4, scale: 5 } } }),
    tables({ columns: { a: { type: 'date', format: 'YY/M/D' } } }),
    tables({ except: ['phone', 'phone'] }),
    tables({ hash: ['phone'], except: ['Phone'] }),
    tables({ hash: ['phone'], columns: { phone: 'integer' } }),
    tables({ hash: ['phone'] }, { labels: { Phone: null } }),
    tables({ except: ['phone'] }, { header: 'none' }),
    tables({ hash: ['phone'] }, { header: 'none' }),
    tables({ columns: { phone: 'integer' } }, { except: ['phone'] }),
    tables({ hash: ['phone'] }, ['id']),
    tables({ except: ['phone'] }, ['id']),
  ],
  feeds: [
    leads({ changes: { key: 'id' } }),
    feed({ key: 'id' }, { filters: dated }),
    feed({ key: 'id' }, { columns: 'all', tables: { except: ['ID '] } }),
    feed({ key: 'number' }),
    feed({ key: 'id', ignore: ['name'] }, { columns: { except: ['name'] } }),
    feed({ key: 'id', ignore: ['ID'] }, { columns: 'all' }),
    feed({ key: [] }),
    feed({ key: ['id', 'id'] }),
    feed({}),
  ],
  'files that are published unread': [
    opaque({ columns: { except: ['id'] } }),
    opaque({ columns: { required: ['id'] } }),
    opaque({ drift: { retyped: 'stop' } }),
    opaque({ guards: { minRows: 0 } }),
    opaque({ tables: {} }),
  ],
  'readers in other accounts': [
    reading({ entities: ['lead'] }),
    reading({ entities: [] }),
    reading({ of: [] }),
    reading({ principal: { organization: 'ou-a1b2' } }),
    reading({ of: ['manifests'] }),
    reading({ entities: ['leads', 'contacts'] }),
    reading({ entities: 'all' }, {}),
  ],
};

test('each mistake is reported in one line, with the setting to correct', async () => {
  const texts = Object.entries(REFUSED).map(([title, contents]) => {
    const lines = contents.flatMap((content) => {
      const problems = configurationProblems(content);
      expect(problems, JSON.stringify(content)).toHaveLength(1);
      return problems;
    });
    return [title, lines.join('\n')] as const;
  });

  await expectTexts('configuration-problems', texts);
});

test.each([
  ...'.corp.internal 10.0.0.1 crm [fd00::1] https://crm.test CRM.test'
    .split(' ')
    .map((host) => [host, { ...crm({ privateHosts: [host] }), network: NETWORK }] as const),
  ...`https://files.test files.test:443 files.test/x Files.test files.test. *.files.test user@files.test localhost .test
     ..files.test -files.test files-.test fi_les.test fïles.test ${'a'.repeat(64)}.test 192.0.2.1 .2.1 0xc0.0.2.0x1 [::1] .`
    .split(/\s+/)
    .map((host) => [host, crm({ fileHosts: [host] })] as const),
])('"%s" is not the name of a host: %j', (_, content) => {
  const line = /^crm\.(privateHosts\[0\]: must be a whole|fileHosts\[0\]: must be a) host name in lower case, such as /;
  expect(configurationProblems(content)).toEqual([expect.stringMatching(line)]);
});

describe('several mistakes', () => {
  const fieldsOf = (content: object) => [...new Set(configurationProblems(content).map((line) => line.split(': ')[0]))];

  test('are all reported at once', () => {
    const content = {
      crm: { baseUrl: 'crm', authUrl: CRM.authUrl, secret: 'x' },
      timeZone: 'Mars/Base',
      retentionDays: 0,
      entities: { leads: { columns: [] }, lead: {} },
    };

    expect(fieldsOf(content).sort()).toEqual(
      ['crm.baseUrl', 'crm.secret', 'entities.lead', 'entities.leads.columns', 'retentionDays', 'timeZone'].sort(),
    );
  });

  test('that involve several fields are all reported at once', () => {
    const content = {
      crm: { baseUrl: 'http://crm.test/api/v1', authUrl: 'http://auth.test' },
      polling: { firstWaitSeconds: 9, largestWaitSeconds: 3, deadlineSeconds: 9000 },
    };
    const fields = ['crm.baseUrl', 'crm.authUrl', 'polling.firstWaitSeconds', 'polling.deadlineSeconds'];

    expect(fieldsOf(content)).toEqual(fields);
  });
});

describe('a principal of readers in other accounts', () => {
  test.each([
    '444455556666',
    'arn:aws:iam::444455556666:role/aws-reserved/sso.amazonaws.com/eu-central-1/AWSReservedSSO_Data_0123456789abcdef',
    'arn:aws-us-gov:iam::444455556666:role/a+b=c,d.e@f',
    { organization: 'o-a1b2c3d4e5' },
  ])('may be %j', (principal) => {
    expect(configurationProblems(reading({ principal }))).toEqual([]);
  });

  const roles = ['root', 'user/dana', 'role/*', 'role/$'.concat('{aws:username}')];
  test.each([
    ...['4444-5555-6666', 444455556666, '*', 'analyst', null],
    ...roles.map((role) => `arn:aws:iam::444455556666:${role}`),
    'arn:aws:sts::444455556666:assumed-role/analyst/dana',
  ])('may not be %j', (principal) => {
    const message = 'readers[0].principal: must be an account ("444455556666"), the ARN of a role ("arn:aws:';
    expect(configurationProblems(reading({ principal }))).toEqual([expect.stringContaining(message)]);
  });
});

test('readers of all files are accepted if no entity has a table', () => {
  expect(configurationProblems(reading({ entities: 'all', of: ['files'] }, {}))).toEqual([]);
});
