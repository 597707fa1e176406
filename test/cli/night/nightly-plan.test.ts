import { expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { clockAt } from '../../support/clock.ts';
import { tempFile } from '../../support/project.ts';
import { expectResults } from '../../support/screen.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import type { Part } from '../support/cloud/world.ts';
import { runCli } from '../support/run-cli.ts';

clockAt('2026-11-20T12:00:00Z');

const crm = {
  baseUrl: 'http://127.0.0.1:8080/api/v1',
  authUrl: 'http://127.0.0.1:8080/auth',
  operatorField: 'combine',
};

/** The output of `plan` for a configuration, without credentials, region and local cloud. */
async function plan(configuration: object, ...args: string[]) {
  const file = tempFile(JSON.stringify({ local: true, crm, ...configuration }), 'prod.json');
  return runCli('plan', '--deployment', 'prod', '--configuration', file, ...args);
}

/** The output for the configuration `example`, which starts leads at half past midnight in Jerusalem. */
async function planOfDeployed(part: Part, ...args: string[]) {
  const { endpoint } = await aws(part);
  return runCli('plan', 'leads', '--deployment', 'example', '--endpoint-url', endpoint, ...args);
}

const filters = [{ field: 'createdAt', value: [{ $date: 'day-1d', as: 'instant' }, { $date: 'weekStart' }] }];
const columns = { except: ['nationalId'], required: ['id'] };
const more = { sorts: [{ field: 'id' }], filtersOperator: 'and', sendEmail: true, extra: { locale: 'he' } };
const DATED = ['leads', '--date', '2026-03-05'];
const jerusalem = { timeZone: 'Asia/Jerusalem', nightly: { at: '02:00', spreadMinutes: 0 } };

const PLANS: [what: string, configuration: object, ...args: string[]][] = [
  ['a time zone, filters and columns', { ...jerusalem, entities: { leads: { columns, filters, ...more } } }, ...DATED],
  ['filters, in UTC', { entities: { leads: { filters } } }, ...DATED],
  ['a document', jerusalem, 'meetings', '--json'],
  ['an offset of five and a half hours', { timeZone: 'Asia/Kolkata' }, 'leads', '--json'],
  ['an offset of minus three and a half hours', { timeZone: 'America/St_Johns' }, 'leads', '--json'],
  ['checks', { entities: { leads: { guards: { minRows: 7, maxShrink: 0.2 } } } }, 'leads'],
  ['a rule that is off', { entities: { leads: { enabled: false } } }, 'leads'],
  ['a rate', { entities: { leads: { schedule: 'rate(1 hour)' } } }, 'leads'],
  ['a rate, as a document', { entities: { leads: { schedule: 'rate(1 hour)' } } }, 'leads', '--json'],
  ['an unknown time zone', { timeZone: 'Mars/Base' }],
  ['an invalid time', { nightly: { at: '25:00' } }],
  ['an invalid date', { entities: { leads: { filters: [{ a: { $date: 'tomorrow' } }] } } }],
];

const CHANGED = { Name: 'x', State: 'ENABLED', ScheduleExpression: 'cron(0 5 * * ? *)' };
const DEPLOYED: [what: string, part: Part, ...args: string[]][] = [
  ['paused', rules({ paused: ['leads'] }, 'example')],
  ['paused, as a document', rules({ paused: ['leads'] }, 'example'), '--json'],
  ['deleted', rules({ gone: ['leads'] }, 'example')],
  ['changed', { DescribeRule: CHANGED }],
  ['not readable', denied('DescribeRule')],
];

test('plan shows the request, the next starts and the checks, or the path of a wrong setting', async () => {
  const plans = PLANS.map(async ([what, ...given]) => [what, await plan(...given)] as const);
  const deployed = DEPLOYED.map(
    async ([what, ...given]) => [`a rule that is ${what}`, await planOfDeployed(...given)] as const,
  );

  await expectResults('plans', await Promise.all([...plans, ...deployed]));
});

test('prints one line for each entity, all for the same date', async () => {
  const { stdout } = await plan({}, '--json');

  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ entity, date }) => `${entity} ${date}`)).toEqual(ENTITIES.map((one) => `${one} 2026-11-20`));
});
