import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { startRun } from '../cli/runs/executions.ts';
import { followRun } from '../cli/runs/follow.ts';
import { ENTITIES } from '../core/config/entities.ts';
import type { Session } from '../local/session.ts';
import { withSession } from './bench-session.ts';
import { benchmark } from './kit.ts';
import { COUNTED_STEPS, type CostLine, costOfRuns, costTable, type Night, usageOf } from './night-cost.ts';

/**
 * `npm run bench:cost`: computes the cost of a month from the usage of a real night in the local cloud: all entities
 * once, ten status requests and 10 MB each, multiplied by list prices. `--write` puts the table into docs/cost.md.
 */

const CHECKS = 10;
const FILE_BYTES = 10_000_000;
const QUICK_FILE_BYTES = 100_000;
/** Runs per night, seven for each deployment. */
const SCALES = [7, 700, 35_000];

await benchmark(
  async (kit) => {
    const sandbox = { jobChecks: kit.quick ? 1 : CHECKS, bytes: kit.quick ? QUICK_FILE_BYTES : FILE_BYTES };
    await withSession(kit, sandbox, async (session) => {
      const night = await kit.screen.step('A night of seven runs', () => nightOf(session));
      const runs = costOfRuns(night);
      if (kit.flag('write')) await intoDocument(costMarkdown(runs));
      process.stdout.write(`${kit.json ? JSON.stringify({ night, runs }) : costMarkdown(runs)}\n`);
    });
  },
  ['write'],
);

/** Runs the entities one after the other, so that durations do not include waits for this machine's CPU. */
async function nightOf(session: Session): Promise<Night> {
  const runs: Night['runs'] = [];
  await runAll(session, () => undefined); // warm from here on, as all but a night's first run
  const before = await logBytesOf(session);
  await runAll(session, async (arn) => runs.push(await usageOf(session.target, arn)));
  return { runs, logBytes: (await logBytesOf(session)) - before };
}

async function runAll({ target }: Session, each: (executionArn: string) => unknown): Promise<void> {
  for (const entity of ENTITIES) {
    const { executionArn } = await startRun(target, entity, {});
    const report = await followRun(target.sfn, entity, executionArn, { everyMs: 200 });
    if (report.status !== 'SUCCEEDED') throw new Error(`${entity}: ${report.error}: ${report.cause}`);
    await each(executionArn);
  }
}

/** Counts the functions' own lines. AWS adds START, END and REPORT lines of about 400 bytes to each invocation. */
async function logBytesOf({ target: { logs: client, downloadLogGroup } }: Session): Promise<number> {
  let bytes = 0;
  for (const step of COUNTED_STEPS) {
    const logGroupName = downloadLogGroup.replace(/DownloadFile$/, step);
    for await (const { events = [] } of paginateFilterLogEvents({ client }, { logGroupName })) {
      for (const { message = '' } of events) bytes += Buffer.byteLength(message);
    }
  }
  return bytes;
}

function costMarkdown(lines: CostLine[]): string {
  return costTable(
    'What the runs cost, a month',
    lines,
    SCALES.map((scale) => ({
      head: `${scale.toLocaleString('en')} runs a night`,
      times: scale / ENTITIES.length,
    })),
  );
}

async function intoDocument(table: string): Promise<void> {
  const file = join(import.meta.dirname, '..', 'docs', 'cost.md');
  const document = await readFile(file, 'utf8');
  const marked = /(?<=<!-- tables -->\n)[\s\S]*(?=<!-- end of tables -->)/;
  if (!marked.test(document)) throw new Error(`${file} has no place for the tables.`);
  const changed = document.replace(marked, () => `\n${table}\n\n`);
  await writeFile(file, changed);
}
