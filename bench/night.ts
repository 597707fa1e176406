import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { followRun, startRun } from '../cli/runs/executions.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { STEPS } from '../core/step/steps.ts';
import type { Session } from '../local/session.ts';
import { usageOf } from './cost.ts';
import { type CostLine, costLines, type Night, total } from './night-cost.ts';
import { withSession } from './support/session.ts';

/**
 * `npm run bench:cost`: what a month costs, from what a real night used: all entities once in the local cloud, ten looks at
 * the status and 10 MB each, counted and multiplied by list prices. `--write` puts the tables into docs/cost.md.
 */

const CHECKS = 10;
const FILE_BYTES = 10_000_000;
/** Runs a night, seven for each deployment. */
const SCALES = [7, 700, 35_000];

const { values } = parseArgs({
  options: { write: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
await withSession(values.json, { jobChecks: CHECKS, bytes: FILE_BYTES }, async ({ session, screen }) => {
  const night = await screen.step('A night of seven runs', () => nightOf(session));
  const lines = costLines(night);
  const text = values.json ? JSON.stringify({ night, ...lines }) : tablesOf(lines);
  if (values.write) await intoDocument(tablesOf(lines));
  process.stdout.write(`${text}\n`);
});

/** One after the other, so that the durations of the functions are their own and not this machine's queue. */
async function nightOf(session: Session): Promise<Night> {
  const runs: Night['runs'] = [];
  await runAll(session, () => undefined); // The functions are warm from here on, as all but the first of a night are.
  const before = await logBytesOf(session);
  await runAll(session, async (arn) => runs.push(await usageOf(session.target, arn)));
  return { runs, logBytes: (await logBytesOf(session)) - before, alarms: await alarmsOf(session) };
}

async function runAll({ target }: Session, each: (executionArn: string) => unknown): Promise<void> {
  for (const entity of ENTITIES) {
    const executionArn = await startRun(target, entity, {});
    const report = await followRun(target.sfn, entity, executionArn, { everyMs: 200 });
    if (report.status !== 'SUCCEEDED') throw new Error(`${entity}: ${report.error}: ${report.cause}`);
    await each(executionArn);
  }
}

/** Of the functions' own lines; AWS adds START, END and REPORT lines of about 400 bytes to each invocation. */
async function logBytesOf({ target: { logs: client, downloadLogGroup } }: Session): Promise<number> {
  let bytes = 0;
  for (const step of Object.keys(STEPS)) {
    const logGroupName = downloadLogGroup.replace(/DownloadFile$/, step);
    for await (const { events = [] } of paginateFilterLogEvents({ client }, { logGroupName })) {
      for (const { message = '' } of events) bytes += Buffer.byteLength(message);
    }
  }
  return bytes;
}

async function alarmsOf({ cloud }: Session): Promise<number> {
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  const client = new CloudFormationClient({ endpoint: cloud.endpoint, region: 'us-east-1', credentials });
  let alarms = 0;
  const pages = paginateListStackResources({ client }, { StackName: 'crm-export-local' });
  for await (const { StackResourceSummaries = [] } of pages) {
    alarms += StackResourceSummaries.filter(({ ResourceType }) => ResourceType === 'AWS::CloudWatch::Alarm').length;
  }
  return alarms;
}

function tablesOf({ runs, standing }: { runs: CostLine[]; standing: CostLine[] }): string {
  const dollars = (value: number) => `$${value < 10 ? value.toFixed(3) : Math.round(value).toLocaleString('en')}`;
  const columns = SCALES.map((scale) => scale / ENTITIES.length);
  const row = ({ what, counted, dollars: each }: CostLine) =>
    `| ${what} | ${counted} | ${columns.map((times) => dollars(each * times)).join(' | ')} |`;
  const sum = (what: string, lines: CostLine[]) => row({ what: `**${what}**`, counted: '', dollars: total(lines) });
  const heads = SCALES.map((scale) => `${scale.toLocaleString('en')} runs a night`).join(' | ');
  const head = (first: string) =>
    `| ${first} | counted | ${heads} |\n| --- | --- | ${SCALES.map(() => '---:').join(' | ')} |`;
  return [
    ...[head('What the runs cost, a month'), ...runs.map(row), sum('Together', runs), ''],
    ...[head('What the deployments cost standing still, a month'), ...standing.map(row), sum('Together', standing)],
  ].join('\n');
}

async function intoDocument(tables: string): Promise<void> {
  const file = join(import.meta.dirname, '..', 'docs', 'cost.md');
  const document = await readFile(file, 'utf8');
  const marked = /(?<=<!-- tables -->\n)[\s\S]*(?=<!-- end of tables -->)/;
  if (!marked.test(document)) throw new Error(`${file} has no place for the tables.`);
  const changed = document.replace(marked, () => `\n${tables}\n\n`);
  await writeFile(file, changed);
}
