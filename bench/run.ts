import { parseArgs } from 'node:util';
import { followRun, startRun } from '../cli/runs/executions.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import type { Session } from '../local/session.ts';
import { costOf, type Usage, usageOf } from './cost.ts';
import { curlSeconds } from './support/curl.ts';
import { atMost, median, printReport } from './support/report.ts';
import { withSession } from './support/session.ts';
import { timingsOf } from './support/timings.ts';

/**
 * `npm run bench:run`: what a run costs beside the work itself, as ratios within one run on this machine.
 *
 * seven-at-once: seven runs at once against the slowest of them alone. The jobs of the sandbox take ten seconds, which is
 * short for an export; the functions are warm, as cold starts of 28 processes on two cores say nothing about AWS.
 * cost: what that last run used, counted from its history and its logs, and its list price.
 * after-ready: from PROCESSED to published, 10 MB, against `curl` fetching the same file and putting it to the same S3.
 */

const JOB_SECONDS = 10;
const FILE_BYTES = 10_000_000;
const ROUNDS = 5;

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
await withSession(values.json, { jobSeconds: 0 }, async ({ session, screen, record }) => {
  const night = await screen.step('Seven runs, alone and at once', () => nightRatio(session));
  const transfer = await screen.step('10 MB from PROCESSED to published, and by curl', () =>
    transferRatio(session, record.tmpDir),
  );
  const targets = [atMost('seven-at-once', 1.5, night.ratio), atMost('after-ready', 2, transfer.ratio)];
  printReport(values.json, targets, [...night.runs, ...transfer.runs]);
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
  const runs = [row('slowest entity alone', slowest), row('seven entities at once', together)];
  return { ratio: together / slowest, runs };
}

async function transferRatio(session: Session, tmpDir: string) {
  if (session.sandbox) Object.assign(session.sandbox.settings, { jobSeconds: 0, bytes: { leads: FILE_BYTES } });
  const ours: number[] = [];
  const curl: number[] = [];
  let last = '';
  const inside: { download: number; publish: number }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const arn = await startRun(session.target, 'leads', {});
    await followRun(session.target.sfn, 'leads', arn, { everyMs: 200 });
    last = arn;
    const timings = await timingsOf(session.target, arn);
    const seconds = await curlSeconds(session, tmpDir);
    // The first round warms the functions up and is not counted.
    if (round === 0) continue;
    ours.push(timings.afterReady);
    inside.push(timings);
    curl.push(seconds);
  }
  const runs: Record<string, string | number>[] = [
    row('PROCESSED to published, 10 MB', median(ours)),
    row('  of these in DownloadFile', median(inside.map(({ download }) => download))),
    row('  of these in PublishFile', median(inside.map(({ publish }) => publish))),
    row('curl and curl -T, 10 MB', median(curl)),
    costRow(await usageOf(session.target, last)),
  ];
  return { ratio: median(ours) / median(curl), runs };
}

function costRow(usage: Usage) {
  const counted = { ...usage, gbSeconds: usage.gbSeconds.toFixed(2), 'US dollars': costOf(usage).toFixed(6) };
  return { what: 'one run of 10 MB costs', seconds: '', ...counted };
}

function row(what: string, seconds: number) {
  return { what, seconds: seconds.toFixed(2) };
}
