import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { tempDir } from '../../support/project.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import type { Part } from '../support/cloud/world.ts';
import { runCli } from '../support/run-cli.ts';

const crm = {
  baseUrl: 'http://127.0.0.1:8080/api/v1',
  authUrl: 'http://127.0.0.1:8080/auth',
  operatorField: 'combine',
};
const filters = [{ field: 'createdAt', value: [{ $date: 'day-1d', as: 'instant' }, { $date: 'weekStart' }] }];

/** The output of `plan` for a configuration, without credentials, region and local cloud. */
async function plan(configuration: object, ...args: string[]) {
  const file = join(await tempDir(), 'prod.json');
  await writeFile(file, JSON.stringify({ local: true, crm, ...configuration }));
  return runCli('plan', '--deployment', 'prod', '--configuration', file, ...args);
}

async function linesOf(configuration: object, ...args: string[]) {
  const { code, stdout, stderr } = await plan(configuration, ...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('shows the request of a date as it would be sent, with the configured columns', async () => {
  const columns = { except: ['nationalId'], required: ['id'] };
  const more = { sorts: [{ field: 'id' }], filtersOperator: 'and', sendEmail: true, extra: { locale: 'he' } };
  const configuration = { timeZone: 'Asia/Jerusalem', entities: { leads: { columns, filters, ...more } } };

  const [line] = await linesOf(configuration, 'leads', '--date', '2026-03-05');

  expect(line).toMatchObject({ entity: 'leads', date: '2026-03-05' });
  expect(line.request).toEqual({
    columns: { except: ['nationalId'] },
    sorts: [{ field: 'id' }],
    filters: [{ field: 'createdAt', value: ['2026-03-03T22:00:00.000Z', '2026-03-02'] }],
    combine: 'and',
    sendEmail: true,
    locale: 'he',
  });
});

test('shows the next five starts of the rule, in local time and UTC', async () => {
  const configuration = { timeZone: 'Asia/Jerusalem', nightly: { at: '02:00', spreadMinutes: 0 } };

  const [line] = await linesOf(configuration, 'meetings');

  expect(line.nextStarts).toHaveLength(5);
  for (const { date, local, utc } of line.nextStarts) {
    expect(local).toMatch(new RegExp(`^${date}T0[23]:00:00\\+0[23]:00$`));
    expect(new Date(local).toISOString()).toBe(utc);
    expect(new Date(utc).getTime()).toBeGreaterThan(Date.now() - 60_000);
  }
});

test('shows the configured guards with their defaults', async () => {
  const [line] = await linesOf({ entities: { leads: { guards: { minRows: 7, maxShrink: 0.2 } } } }, 'leads');

  expect(line.guards).toEqual({ minRows: 7, maxShrink: 0.2, maxGrowth: 10, maxIrregularShare: 0.01 });
});

test('shows offsets west of Greenwich and of half hours', async () => {
  const [east] = await linesOf({ timeZone: 'Asia/Kolkata', nightly: { at: '02:00' } }, 'leads');
  const [west] = await linesOf({ timeZone: 'America/St_Johns', nightly: { at: '02:00' } }, 'leads');

  expect(east.nextStarts[0].local).toMatch(/T02:00:00\+05:30$/);
  expect(west.nextStarts[0].local).toMatch(/T0[23]:00:00-0[23]:30$/);
});

test.each([
  ['an empty list if the rule is off', { enabled: false }, []],
  ['null for a rate', { schedule: 'rate(1 hour)' }, null],
])('the next starts are %s', async (_, leads, nextStarts) => {
  expect(await linesOf({ entities: { leads } }, 'leads')).toMatchObject([{ nextStarts }]);
});

test('prints one line for each entity, all for the same date', async () => {
  const lines = await linesOf({});

  expect(lines.map(({ entity }) => entity)).toEqual(ENTITIES);
  expect(new Set(lines.map(({ date }) => date)).size).toBe(1);
});

test('prints a start once if the local time is UTC', async () => {
  const { stdout } = await plan({ entities: { leads: { filters } } }, 'leads', '--date', '2026-03-05');

  expect(stdout).toMatch(/^leads of 2026-03-05 in UTC, kind: window\n/);
  expect(stdout.match(/^ {4}\d{4}-\d\d-\d\d 01:00 UTC$/gm)).toHaveLength(5);
});

describe('with the deployed rules', () => {
  /** The configuration `example` starts leads at half past midnight in Jerusalem. */
  const planned = async (...parts: Part[]) => {
    const { endpoint } = await aws(...parts);
    return runCli('plan', 'leads', '--deployment', 'example', '--endpoint-url', endpoint);
  };

  test.each([
    ['paused', rules({ paused: ['leads'] }, 'example'), 'resume leads'],
    ['without a rule', rules({ gone: ['leads'] }, 'example'), 'npx cdk deploy -c deployment=example --revert-drift'],
  ])('shows no start of an entity that is %s, but the command that restores it', async (word, part, command) => {
    const { stdout } = await planned(part);

    expect(stdout).toMatch(new RegExp(`  Next starts\n    None: ${word}\\.\n    -> .*${command}.*\n  Checks`));
  });

  test('says that a rule starts at other times', async () => {
    const { stdout } = await planned({
      DescribeRule: ({ input: { Name } }) => ({ Name, State: 'ENABLED', ScheduleExpression: 'cron(0 5 * * ? *)' }),
    });

    expect(stdout).toContain('    rule changed: it starts at other times');
  });

  test('plans from the configuration, and says so, if rules cannot be read', async () => {
    const { code, stdout, stderr } = await planned(denied('DescribeRule'));

    expect(code).toBe(0);
    expect(stderr).toMatch(/^The rules were not read: AWS denies access .*\n$/);
    expect(stdout).toContain('Asia/Jerusalem (');
  });
});

test.each([
  [{ timeZone: 'Mars/Base' }, /^ConfigInvalid: \S+: timeZone: /],
  [{ nightly: { at: '25:00' } }, /^ConfigInvalid: \S+: nightly\.at: a time such as/],
  [{ entities: { leads: { filters: [{ a: { $date: 'tomorrow' } }] } } }, /^ConfigInvalid: .*filters\[0\]\.a: must be/],
])('refuses %j with the path of the setting', async (configuration, sentence) => {
  const { code, stdout, stderr } = await plan(configuration);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(sentence);
});
