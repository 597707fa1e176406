import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetExecutionHistoryCommand, type HistoryEvent } from '@aws-sdk/client-sfn';
import ky from 'ky';
import * as z from 'zod';
import { ENTITIES } from '../core/config/entities.ts';
import type { Session } from '../local/session.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { runOf, withSession } from './bench-session.ts';
import { atMost, benchmark, type Found, median } from './kit.ts';

/**
 * `npm run bench:run`: measures the overhead of runs as ratios, on this machine.
 *
 * seven-at-once: seven runs at once against the slowest of them alone; jobs take ten seconds, the functions are warm.
 * after-ready: from PROCESSED to published, 10 MB and 1 GiB, against `curl` fetching the same file and putting it to the same S3.
 */

const JOB_SECONDS = 10;
const FILES = [
  { id: 'after-ready', what: '10 MB', bytes: 10_000_000, rounds: 5 },
  { id: 'after-ready-1-gib', what: '1 GiB', bytes: 1024 ** 3, rounds: 2 },
];
const QUICK = [{ id: 'after-ready', what: '10 MB', bytes: 10_000_000, rounds: 1 }];

await benchmark((kit) =>
  withSession(kit, { jobSeconds: 0 }, async (session) => {
    const { quick, dir, experiment } = kit;
    await experiment('seven-at-once', 'Seven runs, alone and at once', () => night(session, quick ? 1 : JOB_SECONDS));
    for (const file of quick ? QUICK : FILES) {
      await experiment(file.id, `${file.what} from PROCESSED to published, and by curl`, () =>
        transfer(session, dir, file),
      );
    }
  }),
);

async function night(session: Session, jobSeconds: number): Promise<Found> {
  const atOnce = () => secondsOf(() => Promise.all(ENTITIES.map((entity) => runOf(session, entity))));
  await atOnce();
  sandboxOf(session).settings.jobSeconds = jobSeconds;
  let slowest = 0;
  for (const entity of ENTITIES) slowest = Math.max(slowest, (await runOf(session, entity)).seconds);
  const together = await atOnce();
  return {
    runs: [row('slowest entity alone', slowest), row('seven entities at once', together)],
    targets: [atMost('seven-at-once', 1.5, together / slowest)],
  };
}

/** The first round warms up and does not count. */
async function transfer(session: Session, dir: string, file: (typeof FILES)[number]): Promise<Found> {
  const { id, what, bytes, rounds } = file;
  Object.assign(sandboxOf(session).settings, { jobSeconds: 0, bytes: { leads: bytes } });
  const timings: Record<'afterReady' | 'download' | 'publish' | 'curl', number>[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const { executionArn } = await runOf(session, 'leads');
    timings.push({ ...(await timingsOf(session, executionArn)), curl: await curlSeconds(session, dir) });
  }
  const typical = (figure: keyof (typeof timings)[number]) => median(timings.slice(1).map((run) => run[figure]));
  const runs = [
    row(`PROCESSED to published, ${what}`, typical('afterReady')),
    row('  of these in DownloadFile', typical('download')),
    row('  of these in PublishFile', typical('publish')),
    row(`curl and curl -T, ${what}`, typical('curl')),
  ];
  return { runs, targets: [atMost(id, 2, typical('afterReady') / typical('curl'))] };
}

/** Seconds from the PROCESSED answer to the end of the run, and the part of this time that two functions took. */
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

/** Seconds for `curl` to fetch a new export of leads from its ready link and put it to the same S3. */
async function curlSeconds(session: Session, dir: string): Promise<number> {
  const link = await readyLink(sandboxOf(session));
  const file = join(dir, 'curl.csv');
  const to = `${session.cloud.endpoint}/${session.target.BucketName}/runs/curl.csv`;
  const sigv4 = ['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', '000000000000:local'];
  const curl = (...args: string[]) => promisify(execFile)('curl', ['-sSf', ...args]);
  return secondsOf(async () => {
    await curl('-o', file, link);
    await curl(...sigv4, '-T', file, to);
  });
}

/** Makes a processed export and returns the link to its file. */
async function readyLink(sandbox: Sandbox): Promise<string> {
  const { accessToken } = sandbox.issueTokens();
  const http = ky.create({ baseUrl: `${sandbox.baseUrl}/`, headers: { authorization: `Bearer ${accessToken}` } });
  const fields = await http.get('leads/fields').json(z.array(z.object({ fieldName: z.string() })));
  const json = { columns: fields.map(({ fieldName }) => fieldName) };
  const { id } = await http.post('leads/exports', { json }).json(z.object({ id: z.string() }));
  await http.get(`leads/exports/${id}`);
  return (await http.post(`leads/exports/${id}/download`).json(z.object({ url: z.string() }))).url;
}

function sandboxOf({ sandbox }: Session): Sandbox {
  if (!sandbox) throw new Error('The benchmark needs the sandbox.');
  return sandbox;
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

function row(what: string, seconds: number) {
  return { what, seconds: seconds.toFixed(2) };
}
