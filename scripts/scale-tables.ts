import { readFileSync } from 'node:fs';
import { ENTITIES } from '../core/config/entities.ts';
import { type CostLine, costOfStanding, costTable, dollarsText, total } from './cost/night-cost.ts';
import { PRICE } from './cost/prices.ts';
import { fullDeployment, synthesise, type Template } from './definition.ts';
import { table } from './document-tables.ts';
import { RESOURCE_QUOTAS, STACK_QUOTA, USE_QUOTAS } from './scale-quotas.ts';

/** The tables of docs/scale.md and the part of docs/cost.md that the template tells. */

const wholeText = (value: number) => Math.floor(value).toLocaleString('en');
const twoDigits = (value: number) => `$${value.toFixed(2)}`;

/** One line for the top of docs/cost.md. */
export function costInShort(): string {
  const [withBoard, without] = [total(standingCost(true)), total(standingCost(false))];
  const alarms = countsOf('AWS::CloudWatch::Alarm').plain;
  return `**A deployment costs ${twoDigits(without)} a month standing still without its dashboard (\`"dashboard": false\`), ${twoDigits(withBoard)} with it: ${alarms} alarms, a key, two secrets, metrics. Its runs, seven a night, cost ${twoDigits(runsOf('Together'))} a month.**`;
}

export function standingTable(): string {
  const columns = [1, 100, 5000].map((times) => {
    return { head: `${times.toLocaleString('en')} deployment${times === 1 ? '' : 's'}`, times };
  });
  return costTable('What deployments cost standing still, a month', standingCost(true), columns);
}

/** What a deployment reaches first, and then. */
export function scaleInShort(): string {
  const [first, second] = reachedQuotas();
  if (!first || !second) throw new Error('there are fewer than two quotas on resources');
  return `**In short: ${first.name} end at ${wholeText(first.reachedWith)} deployments; with that quota raised, ${second.name} at ${wholeText(second.reachedWith)}.**`;
}

/** The one that is reached first is the first. */
function reachedQuotas() {
  const counted = RESOURCE_QUOTAS.map((quota) => ({ ...quota, ...countsOf(quota.type) }));
  return [...counted, { ...STACK_QUOTA, plain: 1, full: 1 }]
    .map((quota) => ({ ...quota, reached: quota.limit / quota.plain, reachedWith: quota.limit / quota.full }))
    .sort((one, other) => one.reachedWith - other.reachedWith);
}

/** Quotas on resources. */
export function resourceTable(): string {
  const rows = reachedQuotas().map(
    ({ name, limit, plain, full, reached, reachedWith, raised, breaks, remedy, source }) => [
      `[${name}](${source})`,
      `${limit.toLocaleString('en')}${raised ? '' : ', fixed'}`,
      plain === full ? `${plain}` : `${plain}; ${full} with all`,
      plain === full ? `**${wholeText(reached)}**` : `**${wholeText(reached)}**; ${wholeText(reachedWith)} with all`,
      breaks,
      remedy,
    ],
  );
  return table(['Quota', 'Default', 'A deployment takes', 'Deployments that fit', 'What breaks', 'What to do'], rows);
}

export function useTable(): string {
  const rows = USE_QUOTAS.map(({ of, name, limit, raised, reached, breaks, remedy, source }) => [
    of,
    `[${name}](${source})`,
    `${limit.toLocaleString('en')}${raised ? '' : ', fixed'}`,
    reached,
    breaks,
    remedy,
  ]);
  return table(['Of', 'Quota', 'Default', 'Reached at', 'What breaks', 'What to do'], rows);
}

const BUDGET = 100;

/** At how many of each a hundred dollars a month are spent. */
export function costsTable(): string {
  const standing = standingCost(true).map(({ what, dollars }) => ({
    what: `${what}, standing`,
    dollars,
    of: 'deployments',
  }));
  const runs = ['Step Functions', 'S3', 'X-Ray', 'KMS', 'Secrets Manager', 'CloudWatch Logs', 'Lambda'].map((what) => {
    return { what: `${what}, of runs`, dollars: runsOf(what) / ENTITIES.length, of: 'runs a night' };
  });
  const rest = [
    { what: 'Files: S3 storage of a GB', dollars: PRICE.storedGigabyte, of: 'GB kept' },
    { what: 'Files: moving a GiB', dollars: 0.0002, of: 'GiB moved in the month' },
    { what: 'Updates: 1,000 lines', dollars: 0.0004, of: 'thousand lines in the month' },
  ];
  const rows = [...standing, ...runs, ...rest].map(({ what, dollars, of }) => [
    what,
    `$${dollars.toPrecision(2)}`,
    `${wholeText(BUDGET / dollars)} ${of}`,
  ]);
  return table(['Cost', 'Each, a month', `$${BUDGET} a month are reached at`], rows);
}

/** What stands still in the pooled design for each agency: its grant; all else is there once. */
export function pooledTable(): string {
  const grant = 2 * PRICE.secret;
  // The coverage check has one in place of one for each entity.
  const alarms = countsOf('AWS::CloudWatch::Alarm').plain - ENTITIES.length + 1;
  const once = PRICE.dashboard + PRICE.key + alarms * PRICE.alarm;
  const metrics = standingCost(true).find(({ what }) => what === 'CloudWatch metrics')?.dollars ?? 0;
  const lines: CostLine[][] = [standingCost(true), standingCost(false)];
  const rows = [10, 50, 500, 5000].map((agencies) => [
    agencies.toLocaleString('en'),
    ...lines.map((line) => dollarsText(total(line) * agencies)),
    dollarsText(once + metrics + grant * agencies),
  ]);
  return table(['Agencies', 'Today', 'Today, dashboards off', 'Pooled'], rows);
}

/** What the runs of a deployment cost a month, by the table that was measured. */
function runsOf(what: string): number {
  const row = new RegExp(`^\\| \\**${what}\\** \\| [^|]* \\| \\$([\\d.]+) \\|`, 'm').exec(
    readFileSync('docs/cost.md', 'utf8'),
  );
  if (!row) throw new Error(`docs/cost.md has no measured row ${what}`);
  return Number(row[1]);
}

/** How many resources of a type the stack of a deployment has: of the example, and with all that a configuration can switch on. */
function countsOf(type: string): { plain: number; full: number } {
  const count = ({ Resources }: Template) => Object.values(Resources).filter(({ Type }) => Type === type).length;
  return { plain: count(synthesise()), full: count(synthesise(fullDeployment())) };
}

/** What a deployment of the example's configuration costs standing still, a month, in dollars. */
function standingCost(dashboard: boolean): CostLine[] {
  return costOfStanding({ alarms: countsOf('AWS::CloudWatch::Alarm').plain, dashboard });
}
