import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { expect, test, vi } from 'vitest';
import { fleetText } from '../../../cli/report/deployments.ts';
import { headlineOfFleet } from '../../../cli/report/fleet-words.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { tempDir } from '../../local/support/support.ts';
import { clockAt } from '../../support/clock.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type FakeDeployment, fleet, LAST_NIGHT } from '../support/cloud/fleet.ts';
import type { Part } from '../support/cloud/world.ts';
import { runCli } from '../support/run-cli.ts';

const NIGHT = LAST_NIGHT;
const COUNT = ENTITIES.length;
/** The morning after. */
clockAt('2026-11-20T07:00:00Z');
const all = (startedAt: string) =>
  Object.fromEntries(ENTITIES.map((entity) => [entity, startedAt])) as Record<Entity, string>;
const daysAgo = (days: number) => new Date(Date.parse(NIGHT) - days * 86_400_000).toISOString();
const { leads: _, ...withoutLeads } = all(NIGHT);

/** Forty-four good ones, and one of each kind of trouble; the names of two begin alike. */
const FLEET: FakeDeployment[] = [
  ...Array.from({ length: 44 }, (_, index) => ({
    name: `agency-${String(index).padStart(2, '0')}`,
    published: all(NIGHT),
    version: '0.3.0+abc',
  })),
  { name: 'failed', published: { ...withoutLeads, leads: daysAgo(1) }, failed: { leads: 'RateLimited' } },
  { name: 'failed-too', published: all(NIGHT), alarms: ['FileQuarantined'] },
  { name: 'half', trouble: 'half' },
  { name: 'denied', published: all(NIGHT), trouble: 'denied' },
  { name: 'silent', published: all(NIGHT), trouble: 'silent' },
  { name: 'gone', trouble: 'deleted' },
  {
    name: 'paused',
    published: { ...withoutLeads, leads: daysAgo(9) },
    paused: ['leads'],
    alarms: ['ExecutionsAborted'],
  },
];
/** The longest call of a deployment that never answers. */
const LIMITS = ['--call-timeout', '2'];

test('of fifty deployments each has a row; those that do not answer hide none, and say why in a sentence', async () => {
  const cloud = await aws(...fleet(FLEET));
  const place = ['--endpoint-url', cloud.endpoint];

  const { code, stdout } = await runCli('deployments', ...place, ...LIMITS, '--json');

  expect(code).toBe(1);
  const { deployments } = JSON.parse(stdout);
  const by = new Map<string, Record<string, unknown>>(
    deployments.map((row: { deployment: string }) => [row.deployment, row]),
  );
  expect(by.size).toBe(50);
  expect(deployments.filter(({ tone }: { tone?: string }) => tone === 'good')).toHaveLength(45);
  expect(by.get('agency-07')).toMatchObject({
    why: null,
    headline: `Last night: ${COUNT} of ${COUNT} published`,
    version: '0.3.0+abc',
    alarms: [],
    paused: [],
    withoutRule: [],
    oldest: { startedAt: NIGHT },
  });
  expect(by.get('failed')).toMatchObject({
    tone: 'bad',
    missing: ['leads'],
    oldest: { entity: 'leads', startedAt: daysAgo(1) },
    alarms: [],
    version: '0.1.0',
    neverPublished: [],
  });
  expect(by.get('failed-too')).toMatchObject({ tone: 'good', alarms: ['FileQuarantined'] });
  expect(by.get('paused')).toMatchObject({
    headline: `Last night: 1 of ${COUNT} missing: leads`,
    paused: ['leads'],
    alarms: ['ExecutionsAborted'],
    oldest: { startedAt: NIGHT },
  });
  expect(by.get('half')).toEqual({
    deployment: 'half',
    why: 'The stack crm-export-half is only half deployed (ROLLBACK_COMPLETE): deploy it again.',
  });
  expect(by.get('denied')?.why).toMatch(/^AWS denies access \(AccessDenied\)/);
  expect(by.get('silent')?.why).toMatch(/does not answer/);
  expect(by.has('gone')).toBe(false);
  expect(cloud.calls.filter(({ operation }) => operation === 'DescribeAlarms')).toHaveLength(1);
});

test('what the object of the last night says stands behind its headline, and in the document', async () => {
  const { endpoint } = await aws(
    ...fleet([
      { name: 'whole', published: all(NIGHT), recorded: [] },
      { name: 'lacking', published: { ...withoutLeads, leads: daysAgo(1) }, paused: ['leads'], recorded: ['leads'] },
      { name: 'older', published: all(NIGHT) },
    ]),
  );

  const { stdout } = await runCli('deployments', '--endpoint-url', endpoint);
  const document = JSON.parse((await runCli('deployments', '--endpoint-url', endpoint, '--json')).stdout);

  const texts = stdout.split('\n').map((line) => line.split('\t').slice(0, 3).join(' '));
  expect(texts.slice(0, 3).toSorted()).toEqual([
    `lacking bad Last night: 1 of ${COUNT} missing: leads; not complete, lacks leads (paused); revision 3`,
    `older good Last night: ${COUNT} of ${COUNT} published`,
    `whole good Last night: ${COUNT} of ${COUNT} published; complete; revision 3`,
  ]);
  const nights = Object.fromEntries(document.deployments.map(({ deployment, night }: never) => [deployment, night]));
  const night = { date: NIGHT.slice(0, 10), revision: 3 };
  expect(nights).toEqual({
    whole: { ...night, complete: true, lacking: [] },
    lacking: { ...night, complete: false, lacking: ['leads'] },
    older: null,
  });
});

test('rules are asked for by name: those of twenty others whose names begin alike are not taken for those of one', async () => {
  const others = Array.from({ length: 20 }, (_, index) => ({ name: `prod-${index}`, published: all(NIGHT) }));
  const { endpoint, calls } = await aws(
    ...fleet([
      { name: 'prod', published: all(NIGHT), paused: [...ENTITIES] },
      ...others,
      { name: 'gone', gone: ['leads'] },
    ]),
  );

  const { stdout } = await runCli('deployments', '--endpoint-url', endpoint, '--json');

  const { deployments } = JSON.parse(stdout);
  const off = deployments.flatMap(({ deployment, paused, withoutRule }: Record<string, unknown[]>) =>
    [paused, withoutRule].flat().length > 0 ? [{ deployment, paused, withoutRule }] : [],
  );
  expect(deployments).toHaveLength(22);
  expect(off).toEqual([
    { deployment: 'gone', paused: [], withoutRule: ['leads'] },
    { deployment: 'prod', paused: ENTITIES, withoutRule: [] },
  ]);
  expect(calls.map(({ operation }) => operation)).not.toContain('ListRules');
});

const FIRST_START = '2026-11-21T01:00:00Z';
test.each([
  ['before its first start the night before counts', -1, 'good', `Last night: ${COUNT} of ${COUNT} published`, 0],
  [
    'from its first start it is told, and its runs are still to come',
    0,
    'open',
    `so far: 0 of ${COUNT} published, ${COUNT} still`,
    0,
  ],
  [
    'in two hours EventBridge may still start them',
    120,
    'open',
    `so far: 0 of ${COUNT} published, ${COUNT} still to come`,
    0,
  ],
  ['a run that was started at the last moment may not be listed', 134, 'open', `${COUNT} still to come`, 0],
  ['after that nothing comes by itself', 135, 'bad', `Last night: ${COUNT} of ${COUNT} missing: leads`, 1],
])('of a night without runs, %s', async (_, minutes, tone, headline, exitCode) => {
  const { endpoint } = await aws(...fleet([{ name: 'one', published: all(NIGHT) }]));
  vi.setSystemTime(Date.parse(FIRST_START) + minutes * 60_000);

  const { code, stdout } = await runCli('deployments', '--endpoint-url', endpoint, '--json');

  const [row] = JSON.parse(stdout).deployments;
  expect({ code, ...row }).toMatchObject({ code: exitCode, tone, headline: expect.stringContaining(headline) });
  expect(row[{ good: 'published', open: 'stillToCome', bad: 'missing' }[tone] ?? '']).toEqual(ENTITIES);
});

test('whoever may not read alarms sees everything else', async () => {
  const { endpoint } = await aws(denied('DescribeAlarms'), ...fleet([{ name: 'one', published: all(NIGHT) }]));

  const { code, stdout, stderr } = await runCli('deployments', '--endpoint-url', endpoint, '--json');

  expect(code).toBe(0);
  expect(stderr).toMatch(/^Which alarms are raised is not shown: AWS denies access/);
  expect(JSON.parse(stdout).deployments).toMatchObject([{ deployment: 'one', alarms: null, tone: 'good' }]);
});

test('where executions cannot be read, what is not published may be under way: it is not known, as status says', async () => {
  const { endpoint } = await aws(denied('ListExecutions'), ...fleet([{ name: 'one', published: withoutLeads }]));

  const [row, status] = [
    await runCli('deployments', '--endpoint-url', endpoint),
    await runCli('status', '--deployment', 'one', '--endpoint-url', endpoint),
  ];

  expect({ rows: row.code, status: status.code }).toEqual({ rows: 3, status: 3 });
  expect(row.stdout).toMatch(/^one\tunknown\tNot known: .*Step Functions could not be read/);
});

test('of one that is half updated the row says so, and what its nights are', async () => {
  const { endpoint } = await aws(...fleet([{ name: 'one', published: all(NIGHT), trouble: 'rolling back' }]));

  const { stdout } = await runCli('deployments', '--endpoint-url', endpoint, '--json');

  const warnings = [
    'The stack crm-export-one is in UPDATE_ROLLBACK_FAILED: a deployment goes on, or was not finished. Until one has ended well, functions may have another configuration than the template says.',
  ];
  expect(JSON.parse(stdout).deployments).toMatchObject([{ tone: 'good', warnings }]);
});

test('a rule that somebody changed is named, also in a pipe', async () => {
  const changed: Part = {
    DescribeRule: ({ input: { Name } }) => {
      const schedule = String(Name).endsWith('-leads') ? 'cron(0 5 * * ? *)' : undefined;
      return { Name, State: 'ENABLED', ScheduleExpression: schedule };
    },
  };
  const { endpoint } = await aws(changed, ...fleet([{ name: 'one', published: all(NIGHT) }]));
  const place = ['--endpoint-url', endpoint];

  const [text, document] = await Promise.all([
    runCli('deployments', ...place),
    runCli('deployments', ...place, '--json'),
  ]);

  expect(text.stdout).toMatch(/\t\t\tleads\n$/);
  expect(JSON.parse(document.stdout).deployments).toMatchObject([{ changed: ['leads'], paused: [], withoutRule: [] }]);
});

test('an account without any deployment is no answer', async () => {
  const { endpoint } = await aws(...fleet([{ name: 'gone', trouble: 'deleted' }]));

  const { code, stderr } = await runCli('deployments', '--endpoint-url', endpoint);

  expect(code).toBe(3);
  expect(stderr).toBe('There is no deployment here: check --profile and --region (this is us-east-1).\n');
});

test('a night that begins in local time is judged by what is deployed, without a configuration file', async () => {
  const published = all(NIGHT);
  // 03:00 in Jerusalem: at 00:00 or 01:00 UTC.
  const nightly = { at: '03:00', spreadMinutes: 0 };
  const local = { configuration: { timeZone: 'Asia/Jerusalem', nightly } };
  const { endpoint } = await aws(
    ...fleet([
      { name: 'local', published, ...local },
      { name: 'missing', published: { ...withoutLeads, leads: daysAgo(2) }, ...local },
      { name: 'stopped', published: all(daysAgo(8)) },
    ]),
  );

  const { stdout } = await runCli('deployments', '--endpoint-url', endpoint, '--json');

  const { deployments } = JSON.parse(stdout);
  expect(deployments).toMatchObject([
    { deployment: 'local', tone: 'good', published: ENTITIES },
    { deployment: 'missing', tone: 'bad', missing: ['leads'] },
    { deployment: 'stopped', tone: 'bad', missing: ENTITIES },
  ]);
});

test('a pipe gets a line for each, a terminal a table that fits', async () => {
  const { endpoint } = await aws(...fleet(FLEET.slice(43).filter(({ trouble }) => trouble !== 'silent')));

  const { stdout } = await runCli('deployments', '--endpoint-url', endpoint, ...LIMITS);

  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(6);
  expect(lines[0]).toMatch(
    new RegExp(`^agency-43\tgood\tLast night: ${COUNT} of ${COUNT} published\t\\d+\t0\t0\\.3\\.0\\+abc$`),
  );
  expect(lines.find((line) => line.startsWith('half'))).toMatch(/^half\tunknown\tNot known: The stack/);
  const row = {
    ...{ night: null, published: [], missing: [], stillToCome: [], neverPublished: [] },
    warnings: ['A pointer is gone.'],
  };
  const found = { ...row, headline: 'Last night: 1 of 1 published', tone: 'good' as const, lastNight: '2026-11-20' };
  const rules = { paused: ENTITIES.slice(0, 3), withoutRule: ENTITIES.slice(3, 4), changed: [], off: [] };
  const known = { ...found, ...rules, oldest: null, alarms: ['A', 'B'], version: '1' };
  const deployments = [{ deployment: 'one', found: known, why: null }];
  const table = fleetText({ madeAt: NIGHT, deployments }, { isTTY: true, columns: 60 });
  expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(table).toContain('✓ one');
  // A night that will not come is told in every width.
  expect(table).toContain('paused: 3 of 7; without a rule: contacts');
  expect(table).toContain('one: A pointer is gone.');
});

test('report --all-deployments is a page with a row for each, whose first line is the answer', async () => {
  const { endpoint } = await aws(...fleet(FLEET.slice(42)));
  const file = join(await tempDir(), 'report.html');

  const { code, stdout } = await runCli(
    'report',
    '--all-deployments',
    '--endpoint-url',
    endpoint,
    ...LIMITS,
    '-o',
    file,
  );

  expect(code).toBe(3);
  expect(stdout).toBe(
    `3 of 8 deployments have all of last night; without: failed, paused; not known: denied, half, silent. The report: ${file}\n`,
  );
  const page = await readFile(file, 'utf8');
  const { document } = parseHTML(page);
  const rows = [...document.querySelectorAll('tbody tr')];
  expect(rows).toHaveLength(8);
  const texts = rows.map((row) => row.textContent?.replace(/\s+/g, ' ') ?? '');
  expect(texts.find((text) => text.startsWith('half'))).toContain(
    '? Not known: The stack crm-export-half is only half',
  );
  expect(texts.find((text) => text.startsWith('paused'))).toContain('1: ExecutionsAborted');
  expect(texts.slice(0, 5).map((text) => text.split(' ')[0])).toEqual(['failed', 'paused', 'denied', 'half', 'silent']);
  expect(document.querySelector('h1')?.textContent).toContain('3 of 8');
  expect(page).toContain('script-src &#39;none&#39;');
  expect(page).not.toMatch(/<script|https?:\/\//);
});

test('a headline names five of many', () => {
  const names = Array.from({ length: 8 }, (_, index) => `a${index}`);
  const looks = names.map((deployment) => ({ deployment, found: null, why: 'no' }));

  expect(headlineOfFleet(looks)).toEqual({
    tone: 'bad',
    text: '0 of 8 deployments have all of last night; not known: a0, a1, a2, a3, a4 and 3 more',
  });
});

test('list --all-deployments names the deployment of each run', async () => {
  const { endpoint } = await aws(...fleet(FLEET.slice(43)));
  const args = ['--all-deployments', '--failed', '--endpoint-url', endpoint, ...LIMITS];

  const [piped, document] = await Promise.all([runCli('list', ...args), runCli('list', ...args, '--json')]);

  expect(piped.code).toBe(3);
  expect(piped.stdout).toMatch(/^failed\t\S+\tleads\t\S+\tRateLimited\t/m);
  expect(piped.stdout).toMatch(/^silent\tunknown\tAWS|^silent\tunknown\tThe local cloud does not answer/m);
  const { deployments } = JSON.parse(document.stdout);
  expect(deployments.map(({ deployment }: { deployment: string }) => deployment)).toHaveLength(7);
  expect(deployments).toContainEqual({
    deployment: 'failed',
    why: null,
    runs: [expect.objectContaining({ entity: 'leads', error: 'RateLimited' })],
  });
});

test('doctor --all-deployments has a row for each, and what failed below it', async () => {
  const { endpoint } = await aws(
    ...fleet([
      { name: 'half', trouble: 'half' },
      { name: 'one', published: all(NIGHT) },
    ]),
  );
  const args = ['--all-deployments', '--endpoint-url', endpoint, ...LIMITS];

  const [text, document] = await Promise.all([runCli('doctor', ...args), runCli('doctor', ...args, '--json')]);

  expect(text.code).toBe(2);
  expect(text.stdout).toMatch(
    /^✗ half: a nightly run would fail.*:\n(?: {4}.*\n)* {4}✗ stack: Is the stack there\? The stack crm-export-half is only half/m,
  );
  expect(text.stdout).toMatch(/^✗ one: a nightly run would fail/m);
  const { ok, deployments } = JSON.parse(document.stdout);
  expect(ok).toBe(false);
  expect(deployments).toMatchObject([
    { deployment: 'half', ok: false, why: null },
    { deployment: 'one', ok: false, checks: expect.arrayContaining([expect.objectContaining({ id: 'rules' })]) },
  ]);
});

test.each([
  ['list', '--deployment', 'prod'],
  ['report', '--nights', '30'],
  ['doctor', '--refresh'],
  ['doctor', '--configuration', 'x.json'],
])('%s %s is of one deployment', async (command, ...option) => {
  const { code, stderr } = await runCli(command, '--all-deployments', ...option);

  expect(code).toBe(2);
  expect(stderr).toMatch(/'--all-deployments' cannot be used with option/);
});
