import { describe, expect, test } from 'vitest';
import { configurationProblems } from '../../../core/config/configuration.ts';
import { NETWORK } from '../../../scripts/deployments.ts';

/** Settings that are refused, each with the one line that names the setting and the mistake. Bounds: config/schema.json. */

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };

const crm = (settings: object) => ({ crm: { ...CRM, ...settings } });
const more = (settings: object) => ({ crm: CRM, ...settings });
const leads = (settings: object) => more({ entities: { leads: settings } });
const tables = (settings: object, columns: unknown = 'all') => leads({ columns, tables: settings });
const feed = (changes: object, settings: object = {}) =>
  leads({ columns: ['id', 'name'], tables: {}, ...settings, changes });
const opaque = (settings: object) => leads({ ...settings, opaque: ['json'] });
const network = (part: object) => more({ network: { ...NETWORK, ...part } });
const privateHost = (host: string) => ({ ...crm({ privateHosts: [host] }), network: NETWORK });
const dated = [{ field: 'updatedAt', from: { $date: 'day-1d' } }];

const ADDRESS = 'write the address';
const LEFT_OUT = 'which `columns.except` leaves out';
const HASH = 'tables.hash: names "phone", which ';
const MUST_BE_EMPTY = 'opaque: must be empty with';
const NOT_REQUESTED = 'which `columns` does not request';
const OF_FILE = 'crm.fileHosts[0]: must be a host name in lower case, such as "files.example.com", or ".files';
const OF_NETWORK = 'crm.privateHosts[0]: must be a whole host name in lower case, such as ';
const OF_WAITS = 'deadlineSeconds: must be at most 500 times largestWaitSeconds, here 1000';
const SHRINKING = { firstWaitSeconds: 60, largestWaitSeconds: 30, deadlineSeconds: 600 };
const TWO_SECONDS = { firstWaitSeconds: 1, largestWaitSeconds: 2 };

/** The lines begin with `entities.leads.`. */
const LEADS: [line: string, content: object][] = [
  ['columns.exept: is unknown (did you mean "except"?)', leads({ columns: { exept: ['a'] } })],
  ['timeZone: is unknown here: it belongs to the top level', leads({ timeZone: 'UTC' })],
  ['hash: is unknown here: it belongs to `entities.ENTITY.tables`', leads({ hash: ['a'] })],
  ['columns: must be "all", a list of names, or an object such as', leads({ columns: 'ALL' })],
  ['columns.except: Invalid input: expected array', leads({ columns: { except: 'a' } })],
  ['columns[1]: Invalid input: expected string', leads({ columns: ['a', 7] })],
  ['columns: names a column twice', leads({ columns: ['a', 'b', 'a'] })],
  [
    `polling.${OF_WAITS}`,
    {
      ...more({ polling: { ...TWO_SECONDS, deadlineSeconds: 900 } }),
      entities: { leads: { polling: { deadlineSeconds: 1001 } } },
    },
  ],
  ['at: excludes `schedule`', leads({ at: '02:00', schedule: 'rate(1 day)' })],
  ['schedule: must be an EventBridge expression', leads({ schedule: '0 1 * * *' })],
  ['extra.columns: has a setting of its own', leads({ extra: { columns: ['id'] } })],
  [
    'extra.operator: has a setting of its own',
    { ...crm({ operatorField: 'operator' }), entities: { leads: { extra: { operator: 'or' } } } },
  ],
  ['filters[1].value[0]: must be {"$date": "day-1d"', leads({ filters: [{}, { value: [{ $date: 'yesterday' }] }] })],
  ['extra.range.from: contains a "$date", which', leads({ extra: { range: { from: { $date: 'day' } } } })],
  ['sorts[0].field: contains a "$date"', leads({ sorts: [{ field: { $date: 'day' } }] })],
  ['columns: ', leads({ columns: [] })],
  ['columns.only: names a column twice', leads({ columns: { only: ['id', 'id'] } })],
  ['columns.except: must be plain names', leads({ columns: { except: ['national id\n'] } })],
  [`columns.only: names "ID_number", ${LEFT_OUT}`, leads({ columns: { only: ['ID_number'], except: ['idNumber'] } })],
  [`columns.required: names "Id", ${LEFT_OUT}`, leads({ columns: { except: ['phone', 'id'], required: ['Id'] } })],
  [`columns.required: names "name", ${NOT_REQUESTED}`, leads({ columns: { only: ['id'], required: ['name'] } })],
  [
    `columns.labels: names "lead.ID_NUMBER.text", ${LEFT_OUT}`,
    leads({ columns: { except: ['idNumber'], labels: { 'lead.ID_NUMBER.text': null } } }),
  ],
  ['columns.labels: has a text without letters', leads({ columns: { labels: { '--': 'a' } } })],
  ['columns.header: must not be "none" with `except`', leads({ columns: { header: 'none', except: ['id'] } })],
  ['columns.header: must not be "none" with `labels`', leads({ columns: { header: 'none', labels: { A: 'a' } } })],
  [
    `filters: names "nationalId", ${LEFT_OUT}`,
    leads({ columns: { except: ['nationalId'] }, filters: [{ field: 'nationalId', value: 1 }] }),
  ],
  ['tables.columns.phone: must be "text", "integer"', tables({ columns: { phone: 'varchar' } })],
  ...[
    { type: 'decimal', precision: 4, scale: 5 },
    { type: 'date', format: 'YY/M/D' },
  ].map((type): [string, object] => ['tables.columns.a: must be ', tables({ columns: { a: type } })]),
  ['tables.except: names a column twice', tables({ except: ['phone', 'phone'] })],
  [`${HASH}\`tables.except\` leaves out`, tables({ hash: ['phone'], except: ['Phone'] })],
  [`${HASH}\`tables.columns\` gives a type`, tables({ hash: ['phone'], columns: { phone: 'integer' } })],
  [`${HASH}\`columns.labels\` maps to null`, tables({ hash: ['phone'] }, { labels: { Phone: null } })],
  ...['except', 'hash'].map((key): [string, object] => [
    `tables.${key}: names "phone", which files without a header (`,
    tables({ [key]: ['phone'] }, { header: 'none' }),
  ]),
  [`tables.columns: names "phone", ${LEFT_OUT}`, tables({ columns: { phone: 'integer' } }, { except: ['phone'] })],
  [`tables.hash: names "phone", ${NOT_REQUESTED}`, tables({ hash: ['phone'] }, ['id'])],
  ['changes: needs `tables`', leads({ changes: { key: 'id' } })],
  ['changes: must not be set with a "$date" in `filters`', feed({ key: 'id' }, { filters: dated })],
  [
    'changes.key: names "id", which `tables.except` leaves out',
    feed({ key: 'id' }, { columns: 'all', tables: { except: ['ID '] } }),
  ],
  [`changes.key: names "number", ${NOT_REQUESTED}`, feed({ key: 'number' })],
  [
    `changes.ignore: names "name", ${LEFT_OUT}`,
    feed({ key: 'id', ignore: ['name'] }, { columns: { except: ['name'] } }),
  ],
  [
    'changes.ignore: names "ID", which is a part of `changes.key`',
    feed({ key: 'id', ignore: ['ID'] }, { columns: 'all' }),
  ],
  ['changes.key', feed({ key: [] })],
  ['changes.key', feed({ key: ['id', 'id'] })],
  ['changes.key: must name a column, or a list of columns', feed({})],
  [`${MUST_BE_EMPTY} \`columns.except\`: `, opaque({ columns: { except: ['id'] } })],
  [`${MUST_BE_EMPTY} \`columns.required\`: `, opaque({ columns: { required: ['id'] } })],
  [`${MUST_BE_EMPTY} \`drift.retyped: "stop"\`: `, opaque({ drift: { retyped: 'stop' } })],
  [`${MUST_BE_EMPTY} \`guards.minRows\`: `, opaque({ guards: { minRows: 0 } })],
  [`${MUST_BE_EMPTY} \`tables\`: `, opaque({ tables: {} })],
];

test.each<[line: string, content: unknown]>([
  ['(whole file): ', []],
  ['crm.baseUrl: ', { crm: { authUrl: CRM.authUrl } }],
  ['crm.baseUrl: must start with https:', crm({ baseUrl: 'http://crm.test/api/v1' })],
  [`crm.baseUrl: must end in /api/v1: ${ADDRESS} from which all paths start`, crm({ baseUrl: 'https://crm.test' })],
  ['crm.baseUrl: must have no query, no fragment and no user name', crm({ baseUrl: 'https://u:p@crm.test' })],
  ...['/authorize/', '/oauth/token'].map((end): [string, object] => [
    `crm.authUrl: must not end in /authorize or /oauth/token: ${ADDRESS} before it`,
    crm({ authUrl: `https://auth.test${end}` }),
  ]),
  ['crm.authUrl: must have no query', crm({ authUrl: 'https://auth.test/?a=1' })],
  ['crm.operatorField: is the name of another field', crm({ operatorField: 'filters' })],
  ['crm.emailField: is the name of another field', crm({ emailField: 'filtersOperator' })],
  ['crm.scopes[1]: must be one scope without spaces', crm({ scopes: ['openid', 'a b'] })],
  ['crm.fileHosts: must name the hosts that files come from', crm({ baseUrl: 'https://192.0.2.1/api/v1' })],
  ['retention: is unknown (did you mean "retentionDays"?)', more({ retention: 3 })],
  ['entites: is unknown (did you mean "entities"?)', more({ entites: {} })],
  ['crm.url: is unknown (allowed here: baseUrl, authUrl, ', crm({ url: 'x' })],
  ['nightly.time: is unknown (allowed here: at, spreadMinutes)', more({ nightly: { time: '01:00' } })],
  ['baseUrl: is unknown here: it belongs to `crm`', more({ baseUrl: 'x' })],
  ['entities.lead: is unknown (did you mean "leads"?)', more({ entities: { lead: {} } })],
  ['entities.agentNumbers: is unknown (did you mean "agent-numbers"?)', more({ entities: { agentNumbers: {} } })],
  ['alarms.email: names an address twice', more({ alarms: { email: ['a@b.test', 'a@b.test'] } })],
  ['alarms.runbookUrl: an address or a path', more({ alarms: { runbookUrl: 'a.md#b' } })],
  ['timeZone: an IANA time zone', more({ timeZone: 'Mars/Base' })],
  ['nightly.at: a time such as', more({ nightly: { at: '25:00' } })],
  ['files.maxBytes: must be at most 53687091200 (50 GiB), ', more({ files: { maxBytes: 53_687_091_201 } })],
  [
    'files.formats[1]: must be "csv" or "xlsx"; `entities.ENTITY.opaque` pub',
    more({ files: { formats: ['csv', 'xls'] } }),
  ],
  ['polling.createAgainSeconds: must be at least 300', more({ polling: { createAgainSeconds: 299 } })],
  ['polling.firstWaitSeconds: must not be above', more({ polling: SHRINKING })],
  ['polling.deadlineSeconds: must not be below', more({ polling: { firstWaitSeconds: 9, deadlineSeconds: 8 } })],
  [`polling.${OF_WAITS}`, more({ polling: { ...TWO_SECONDS, deadlineSeconds: 1001 } })],
  ['network.vpcId: must be the id of a VPC, such as "vpc-0123456789abcdef0"', network({ vpcId: 'production' })],
  ['network.subnetIds[0]: must be the id of a subnet', network({ subnetIds: ['sg-0123456789abcdef0'] })],
  ['network.subnetIds: names an id twice', network({ subnetIds: [...NETWORK.subnetIds, ...NETWORK.subnetIds] })],
  ['crm.privateHosts: names file.test, which is neither a host of the CRM nor one', privateHost('file.test')],
  ['crm.privateHosts: needs `network`', crm({ privateHosts: ['crm.test'] })],
  ...'.corp.internal 10.0.0.1 crm [fd00::1] https://crm.test CRM.test'
    .split(' ')
    .map((host): [string, object] => [OF_NETWORK, privateHost(host)]),
  ...`https://files.test files.test:443 files.test/x Files.test files.test. *.files.test user@files.test localhost .test
     ..files.test -files.test files-.test fi_les.test fïles.test ${'a'.repeat(64)}.test 192.0.2.1 .2.1 0xc0.0.2.0x1 [::1] .`
    .split(/\s+/)
    .map((host): [string, object] => [OF_FILE, crm({ fileHosts: [host] })]),
  ...LEADS.map(([line, content]): [string, unknown] => [`entities.leads.${line}`, content]),
])('reports "%s" for %j', (line, content) => {
  const [first, ...others] = configurationProblems(content);

  expect(first?.slice(0, line.length)).toBe(line);
  expect(others).toEqual([]);
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

describe('readers in other accounts', () => {
  const reading = (reader: object, entities: object = { leads: { tables: {} } }) =>
    more({ entities, readers: [{ principal: '444455556666', entities: ['leads'], of: ['tables'], ...reader }] });
  const NO_PRINCIPAL =
    'readers[0].principal: must be an account ("444455556666"), the ARN of a role ("arn:aws:iam::444455556666:role/NAME", no user, session or wildcard) or {"organization": "o-…"}';

  test.each([
    '444455556666',
    'arn:aws:iam::444455556666:role/analyst',
    'arn:aws:iam::444455556666:role/aws-reserved/sso.amazonaws.com/eu-central-1/AWSReservedSSO_Data_0123456789abcdef',
    'arn:aws-us-gov:iam::444455556666:role/a+b=c,d.e@f',
    { organization: 'o-a1b2c3d4e5' },
  ])('may be %j', (principal) => {
    expect(configurationProblems(reading({ principal }))).toEqual([]);
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
  ])('are refused with the principal %j', (principal) => {
    expect(configurationProblems(reading({ principal }))).toEqual([NO_PRINCIPAL]);
  });

  test.each<[object, string]>([
    [{ entities: ['lead'] }, 'readers[0].entities: must be "all" or a list of leads, agent-numbers'],
    [{ entities: [] }, 'readers[0].entities: names no entity'],
    [{ of: [] }, 'readers[0].of: names neither "tables" nor "files"'],
    [{ principal: { organization: 'ou-a1b2' } }, 'readers[0].principal.organization: must be the id of an organiz'],
    [
      { principal: { organization: 'o-a1b2c3d4e5', account: '1' } },
      'readers[0].principal.account: is unknown (allowed here: organization)',
    ],
    [{ of: ['manifests'] }, 'readers[0].of[0]: '],
    [{ entities: ['leads', 'contacts'] }, 'readers[0].entities: names contacts, which has no `tables`'],
    [{ until: 'today' }, 'readers[0].until: is unknown (allowed here: principal, entities, of)'],
  ])('are refused with %j', (reader, sentence) => {
    expect(configurationProblems(reading(reader))).toEqual([expect.stringContaining(sentence)]);
  });

  test('of all tables are refused if no entity has a table; of all files they are accepted', () => {
    const problems = configurationProblems(reading({ entities: 'all' }, {}));

    expect(problems).toEqual(['readers[0].entities: names tables, which no entity has']);
    expect(configurationProblems(reading({ entities: 'all', of: ['files'] }, {}))).toEqual([]);
  });
});
