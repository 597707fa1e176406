import { parseArgs } from 'node:util';
import { GetExecutionHistoryCommand, type HistoryEvent } from '@aws-sdk/client-sfn';
import { followRun, startRun } from '../cli/runs/executions.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import type { Session } from '../local/session.ts';
import type { Usage } from './cost/night-cost.ts';
import { costOf, usageOf } from './cost/usage.ts';
import { curlSeconds } from './support/curl.ts';
import { atMost, median, printReport } from './support/report.ts';
import { withSession } from './support/session.ts';

/**
 * `npm run bench:run`: what a run costs beside the work itself, as ratios within one run on this machine.
 *
 * seven-at-once: seven runs at once against the slowest of them alone; jobs take ten seconds, the functions are warm.
 * cost: what that last run used, counted from its history and its logs, and its list price.
 * after-ready: from PROCESSED to published, 10 MB and 1 GiB, against `curl` fetching the same file and putting it to the same S3.
 */

const JOB_SECONDS = 10;
/** The first round of each warms up, and is not counted. */
const FILES = [
  { id: 'after-ready', what: '10 MB', bytes: 10_000_000, rounds: 5 },
  { id: 'after-ready-1-gib', what: '1 GiB', bytes: 1024 ** 3, rounds: 2 },
] as const;

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
await withSession(values.json, { jobSeconds: 0 }, async ({ session, screen, record }) => {
  const night = await screen.step('Seven runs, alone and at once', () => nightRatio(session));
  const targets = [atMost('seven-at-once', 1.5, night.ratio)];
  const { runs } = night;
  for (const file of FILES) {
    const what = `${file.what} from PROCESSED to published, and by curl`;
    const transfer = await screen.step(what, () => transferRatio(session, record.tmpDir, file));
    targets.push(atMost(file.id, 2, transfer.ratio));
    runs.push(...transfer.runs);
  }
  printReport(values.json, targets, runs);
});

async function secondsOf({ target }: Session, entity: Entity): Promise<number> {
  const report = await followRun(target.sfn, entity, await startRun(target, entity, {}), { everyMs: 200 });
  if (report.status !== 'SUCCEEDED') throw new Error(`${entity}: ${report.error}: ${report.cause}`);
  return report.seconds;
}

async function nightRatio(session: Session) {
  const atOnce = async () => {
    const started = performance.now();
    await Promise.all(ENTITIES.map((entity) => secondsOf(session, entity)));
    return (performance.now() - started) / 1000;
  };
  await atOnce();
  if (session.sandbox) session.sandbox.settings.jobSeconds = JOB_SECONDS;
  let slowest = 0;
  for (const entity of ENTITIES) slowest = Math.max(slowest, await secondsOf(session, entity));
  const together = await atOnce();
  const runs: Record<string, string | number>[] = [
    row('slowest entity alone', slowest),
    row('seven entities at once', together),
  ];
  return { ratio: together / slowest, runs };
}

async function transferRatio(session: Session, tmpDir: string, { what, bytes, rounds }: (typeof FILES)[number]) {
  if (session.sandbox) Object.assign(session.sandbox.settings, { jobSeconds: 0, bytes: { leads: bytes } });
  const curl: number[] = [];
  let last = '';
  const timings: Awaited<ReturnType<typeof timingsOf>>[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const arn = await startRun(session.target, 'leads', {});
    await followRun(session.target.sfn, 'leads', arn, { everyMs: 200 });
    last = arn;
    timings.push(await timingsOf(session, arn));
    curl.push(await curlSeconds(session, tmpDir));
  }
  const typical = (figure: keyof (typeof timings)[number]) => median(timings.slice(1).map((run) => run[figure]));
  const [ours, theirs] = [typical('afterReady'), median(curl.slice(1))];
  const runs: Record<string, string | number>[] = [
    row(`PROCESSED to published, ${what}`, ours),
    row('  of these in DownloadFile', typical('download')),
    row('  of these in PublishFile', typical('publish')),
    row(`curl and curl -T, ${what}`, theirs),
    costRow(what, await usageOf(session.target, last)),
  ];
  return { ratio: ours / theirs, runs };
}

/** Seconds from the answer that the export is processed to the end of the run, and of these inside two functions. */
async function timingsOf({ target: { sfn } }: Session, executionArn: string) {
  const { events = [] } = await sfn.send(new GetExecutionHistoryCommand({ executionArn, maxResults: 1000 }));
  const at = (fits: (event: HistoryEvent) => boolean) =>
    (events.findLast(fits)?.timestamp?.getTime() ?? Number.NaN) / 1000;
  const entered = (state: string) => at((event) => event.stateEnteredEventDetails?.name === state);
  const exited = (state: string) => at((event) => event.stateExitedEventDetails?.name === state);
  return {
    afterReady: at((event) => event.type === 'ExecutionSucceeded') - exited('CheckStatus'),
    download: exited('DownloadFile') - entered('DownloadFile'),
    publish: exited('PublishFile') - entered('PublishFile'),
  };
}

function costRow(what: string, usage: Usage) {
  const counted = { ...usage, gbSeconds: usage.gbSeconds.toFixed(2), 'US dollars': costOf(usage).toFixed(6) };
  return { what: `one run of ${what} costs`, seconds: '', ...counted };
}

function row(what: string, seconds: number) {
  return { what, seconds: seconds.toFixed(2) };
}
