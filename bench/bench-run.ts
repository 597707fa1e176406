import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetExecutionHistoryCommand, type HistoryEvent } from '@aws-sdk/client-sfn';
import ky from 'ky';
import * as z from 'zod';
import { startRun } from '../cli/runs/executions.ts';
import { followRun } from '../cli/runs/follow.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import type { Session } from '../local/session.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { withSession } from './bench-session.ts';
import { atMost, benchmark, type Found, median } from './kit.ts';
import { costOf, type Usage, usageOf } from './night-cost.ts';

/**
 * `npm run bench:run`: what a run costs beside the work itself, as ratios within one run on this machine.
 *
 * seven-at-once: seven runs at once against the slowest of them alone; jobs take ten seconds, the functions are warm.
 * cost: what that last run used, counted from its history and its logs, and its list price.
 * after-ready: from PROCESSED to published, 10 MB and 1 GiB, against `curl` fetching the same file and putting it to the same S3.
 */

const JOB_SECONDS = 10;
/** The first round of each warms up and does not count. */
const FILES = [
  { id: 'after-ready', what: '10 MB', bytes: 10_000_000, rounds: 5 },
  { id: 'after-ready-1-gib', what: '1 GiB', bytes: 1024 ** 3, rounds: 2 },
];
const fieldsSchema = z.array(z.object({ fieldName: z.string() }));
const QUICK = [{ id: 'after-ready', what: '10 MB', bytes: 10_000_000, rounds: 1 }];

await benchmark((kit) =>
  withSession(kit, { jobSeconds: 0 }, async (session) => {
    const { quick, dir, experiment } = kit;
    const jobSeconds = quick ? 1 : JOB_SECONDS;
    await experiment(['seven-at-once'], 'Seven runs, alone and at once', () => night(session, jobSeconds));
    for (const file of quick ? QUICK : FILES) {
      const what = `${file.what} from PROCESSED to published, and by curl`;
      await experiment([file.id], what, () => transfer(session, dir, file));
    }
  }),
);

async function secondsOf({ target }: Session, entity: Entity): Promise<number> {
  const { executionArn } = await startRun(target, entity, {});
  const report = await followRun(target.sfn, entity, executionArn, { everyMs: 200 });
  if (report.status !== 'SUCCEEDED') throw new Error(`${entity}: ${report.error}: ${report.cause}`);
  return report.seconds;
}

async function night(session: Session, jobSeconds: number): Promise<Found> {
  const atOnce = async () => {
    const started = performance.now();
    await Promise.all(ENTITIES.map((entity) => secondsOf(session, entity)));
    return (performance.now() - started) / 1000;
  };
  await atOnce();
  if (session.sandbox) session.sandbox.settings.jobSeconds = jobSeconds;
  let slowest = 0;
  for (const entity of ENTITIES) slowest = Math.max(slowest, await secondsOf(session, entity));
  const together = await atOnce();
  return {
    runs: [row('slowest entity alone', slowest), row('seven entities at once', together)],
    targets: [atMost('seven-at-once', 1.5, together / slowest)],
  };
}

async function transfer(session: Session, dir: string, file: (typeof FILES)[number]): Promise<Found> {
  const { id, what, bytes, rounds } = file;
  if (session.sandbox) Object.assign(session.sandbox.settings, { jobSeconds: 0, bytes: { leads: bytes } });
  const curl: number[] = [];
  let last = '';
  const timings: Awaited<ReturnType<typeof timingsOf>>[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const { executionArn: arn } = await startRun(session.target, 'leads', {});
    await followRun(session.target.sfn, 'leads', arn, { everyMs: 200 });
    last = arn;
    timings.push(await timingsOf(session, arn));
    curl.push(await curlSeconds(session, dir));
  }
  const typical = (figure: keyof (typeof timings)[number]) => median(timings.slice(1).map((run) => run[figure]));
  const ours = typical('afterReady');
  const theirs = median(curl.slice(1));
  const runs = [
    row(`PROCESSED to published, ${what}`, ours),
    row('  of these in DownloadFile', typical('download')),
    row('  of these in PublishFile', typical('publish')),
    row(`curl and curl -T, ${what}`, theirs),
    costRow(what, await usageOf(session.target, last)),
  ];
  return { runs, targets: [atMost(id, 2, ours / theirs)] };
}

/** Seconds from the PROCESSED answer to the end of the run, and how many of them two functions took. */
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

/** Seconds for `curl` to fetch a new export of leads from its ready link and put it to the same S3. */
async function curlSeconds({ sandbox, target, cloud }: Session, dir: string): Promise<number> {
  if (!sandbox) throw new Error('the comparison needs the sandbox');
  const link = await readyLink(sandbox);
  const file = join(dir, 'curl.csv');
  const sigv4 = ['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', '000000000000:local'];
  const started = performance.now();
  await promisify(execFile)('curl', ['-sSf', '-o', file, link]);
  await promisify(execFile)('curl', [
    '-sSf',
    ...sigv4,
    '-T',
    file,
    `${cloud.endpoint}/${target.BucketName}/runs/curl.csv`,
  ]);
  return (performance.now() - started) / 1000;
}

/** Makes a processed export and returns the link to its file. */
async function readyLink(sandbox: Sandbox): Promise<string> {
  const { accessToken } = sandbox.issueTokens();
  const http = ky.create({ baseUrl: `${sandbox.baseUrl}/`, headers: { authorization: `Bearer ${accessToken}` } });
  const fields = await http.get('leads/fields').json(fieldsSchema);
  const json = { columns: fields.map(({ fieldName }) => fieldName) };
  const { id } = await http.post('leads/exports', { json }).json(z.object({ id: z.string() }));
  await http.get(`leads/exports/${id}`);
  return (await http.post(`leads/exports/${id}/download`).json(z.object({ url: z.string() }))).url;
}
