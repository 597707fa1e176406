import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOURS_A_MONTH, NIGHTS_A_MONTH, PRICE } from '../bench/prices.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { DASHBOARD_ONLY, METRICS, type MetricName } from '../core/log/metrics.ts';
import { exampleDeployment, fullDeployment, tableDeployment, updatingDeployment } from '../scripts/deployments.ts';
import { synthesise } from '../scripts/synthesise.ts';
import type { Template } from '../scripts/template.ts';

/** The numbers of docs/design/scale.md and docs/cost.md that follow from the template, from prices or from each other. */

const SCALE = readFileSync('docs/design/scale.md', 'utf8');
const COST = readFileSync('docs/cost.md', 'utf8');
const PLAIN = synthesise();
const FULL = synthesise(fullDeployment());

const countOf = ({ Resources }: Template, type: string) =>
  Object.values(Resources).filter(({ Type }) => Type === type).length;
const whole = (value: number) => Math.floor(value).toLocaleString('en');
const dollars = (value: number) => `$${value < 10 ? value.toFixed(3) : Math.round(value).toLocaleString('en')}`;
const numberIn = (cell = '') => Number(cell.replace(/[$*,]/g, ''));

/**
 * The rows of the table with this first heading; links as their texts. @throws Error if the document has no such table
 */
function rowsOf(document: string, heading: string): string[][] {
  const [, behind = ''] = document.split(`| ${heading} |`);
  const [, , ...lines] = behind.split('\n\n')[0]?.split('\n') ?? [];
  if (lines.length === 0) throw new Error(`There is no table ${heading}.`);
  const rows = lines.map((line) => line.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split('|'));
  return rows.map((cells) => cells.slice(1, -1).map((cell) => cell.trim()));
}

/** The rows about resources: the numbers of the example deployment, and of a deployment with every option. */
function resources() {
  const types: Record<string, string> = {
    'EventBridge rules of a bus': 'AWS::Events::Rule',
    'IAM roles': 'AWS::IAM::Role',
    'DynamoDB tables': 'AWS::DynamoDB::GlobalTable',
    'S3 buckets': 'AWS::S3::Bucket',
    'KMS keys': 'AWS::KMS::Key',
    'State machines': 'AWS::StepFunctions::StateMachine',
  };
  return rowsOf(SCALE, 'Quota').map(([name = '', limit, takes, fit]) => {
    const type = types[name];
    const [plain, full] = type ? [countOf(PLAIN, type), countOf(FULL, type)] : [1, 1];
    return { name, takes, fit, plain, full, limit: numberIn(limit) };
  });
}

/** How many metrics a good night counts, by name, entity and outcome. */
function metricsCounted(names: MetricName[]): number {
  return names
    .flatMap((name) => [...METRICS[name].dimensions] as readonly (readonly string[])[])
    .reduce((count, dimensions) => count + (dimensions.includes('entity') ? ENTITIES.length : 1), 0);
}

/** AWS charges a metric for each hour with data: one hour a night. */
const metricDollars = (count: number) => ((count * NIGHTS_A_MONTH) / HOURS_A_MONTH) * PRICE.metric;

/** Counted in every hour. */
const ALL_DAY: MetricName[] = ['NightIncomplete'];

/** What stands whether anything runs or not: how many, and dollars a month. */
function standing(template = PLAIN): [what: string, count: number, dollars: number][] {
  const elsewhere = [
    ...['FileWarnings', 'TablesNotWritten', 'GrantRotatedButNotStored', 'TokenEndpointUnanswered'],
    ...DASHBOARD_ONLY,
    ...ALL_DAY,
  ];
  const metrics = metricsCounted((Object.keys(METRICS) as MetricName[]).filter((name) => !elsewhere.includes(name)));
  const alarms = countOf(template, 'AWS::CloudWatch::Alarm');
  const keys = countOf(template, 'AWS::KMS::Key');
  const secrets = countOf(template, 'AWS::SecretsManager::Secret');
  return [
    ['CloudWatch alarms', alarms, alarms * PRICE.alarm],
    ['KMS key', keys, keys * PRICE.key],
    ['Secrets', secrets, secrets * PRICE.secret],
    ['CloudWatch metrics', metrics + ALL_DAY.length, metricDollars(metrics) + ALL_DAY.length * PRICE.metric],
  ];
}

/** What each setting adds to what stands, dollars a month. */
function besides(): [what: string, dollars: number][] {
  const added = (template: Template) => sumOf(standing(template)) - total;
  const ofDashboard = PRICE.dashboard + metricDollars(metricsCounted(DASHBOARD_ONLY));
  return [
    ['`dashboard`', added(synthesise(exampleDeployment({ dashboard: true }))) + ofDashboard],
    ['`customerUpdates`', added(synthesise(updatingDeployment()))],
    ['`tables`', added(synthesise(tableDeployment()))],
    ['`tables` with `hash`', added(synthesise(tableDeployment({ hash: ['idNumber'] })))],
  ];
}

const sumOf = (lines: ReturnType<typeof standing>) => lines.reduce((sum, [, , each]) => sum + each, 0);

const total = sumOf(standing());
const runsOf = (what: string) =>
  numberIn(rowsOf(COST, 'What the runs cost, a month').find(([name]) => name?.replaceAll('*', '') === what)?.[2]);

describe('docs/design/scale.md', () => {
  it('says how much of each quota a deployment uses, and names the two quotas that end first', () => {
    for (const { takes, fit, plain, full, limit, name } of resources()) {
      const both = plain !== full;
      const expected = { takes: both ? `${plain}; ${full} with all` : `${plain}`, fit: `**${whole(limit / plain)}**` };
      if (both) expected.fit += `; ${whole(limit / full)} with all`;
      expect({ name, takes, fit }).toEqual({ name, ...expected });
    }
    const [first, second, ...others] = resources().map(({ limit, full, name }) => ({ name, fit: limit / full }));
    expect(others.every(({ fit }) => fit >= (second?.fit ?? 0) && (second?.fit ?? 0) >= (first?.fit ?? 0))).toBe(true);
    expect(SCALE).toContain(`the quota ${second?.name} allows ${whole(second?.fit ?? 0)}.`);
    expect(SCALE).toContain(`the quota ${first?.name} allows ${whole(first?.fit ?? 0)} deployments.`);
  });
});

describe('docs/cost.md', () => {
  it('says what deployments cost without runs, for 1, 100 and 5,000', () => {
    const rows = rowsOf(COST, 'What deployments cost without runs, a month');
    const sums = (sum: number) => [1, 100, 5000].map((times) => dollars(sum * times));

    expect(rows.map(([what, counted, ...columns]) => [what, counted?.split(/[ ,]/)[0], ...columns])).toEqual([
      ...standing().map(([what, count, sum]) => [what, `${count}`, ...sums(sum)]),
      ['**Together**', '', ...sums(total)],
    ]);
  });

  it('says what each setting adds', () => {
    const rows = rowsOf(COST, 'Setting');

    expect(rows.map(([what, , adds]) => [what, adds])).toEqual(besides().map(([what, sum]) => [what, dollars(sum)]));
    expect(readFileSync('docs/configuration.md', 'utf8')).toContain(`reads: $${besides()[0]?.[1].toFixed(2)} a month`);
  });

  it('says what the disk of feeds costs', () => {
    const { Properties: { EphemeralStorage: disk } = {} } =
      Object.values(FULL.Resources).find(({ Properties }) => Properties?.EphemeralStorage) ?? {};
    const dollarsAnHour = ((disk.Size - 512) / 1024) * PRICE.diskGigabyteSecond * 3600;

    expect(COST).toContain(`disk of ${whole(disk.Size)} MB costs a cent for ${whole(0.01 / dollarsAnHour)} hours`);
  });

  it('begins with the sums', () => {
    const [, alarms] = standing()[0] ?? [];
    const costs = [total, runsOf('Together')].map((sum) => `$${sum.toFixed(2)}`);

    expect(total).toBeLessThanOrEqual(4);
    expect(COST).toContain(`A deployment costs ${costs[0]} a month without its runs: ${alarms} alarms,`);
    expect(COST).toContain(`Its runs, seven a night, cost ${costs[1]} a month.`);
  });
});
