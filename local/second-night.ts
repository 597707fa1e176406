import { feedRecords, feedText } from '../cli/changes/feeds.ts';
import { verifyPublished } from '../cli/data/stored-file.ts';
import { createManifests } from '../cli/data/stored-manifests.ts';
import { startRun } from '../cli/runs/executions.ts';
import { followRun } from '../cli/runs/follow.ts';
import type { NamedRun } from '../cli/runs/run.ts';
import type { Target } from '../cli/support/target.ts';
import { manyText } from '../cli/support/text.ts';
import { CRM_EXPORT } from '../core/commands.ts';
import { createBucket } from '../core/storage/bucket.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { rowsOf } from '../sandbox/sandbox-settings.ts';
import { COMPARED, LOCAL_DEPLOYMENT } from './local-configuration.ts';
import { runAll } from './runs.ts';
import type { Screen } from './screen.ts';
import type { Session } from './session.ts';
import { runsTable } from './summary.ts';

const SHRUNK = 'meetings';
const ROWS_LEFT = 40;
const REASON = 'Meetings of closed offices were archived';

interface Night {
  entities: Parameters<typeof runAll>[1];
  date: string;
  screen: Screen;
  signal: AbortSignal;
}

/**
 * Runs the second night. Most meetings are gone from the CRM, so their file is quarantined and a person releases it.
 * Shows the changes of customers.
 * @returns all runs, and whether all ended as expected
 */
export async function secondNight({ target, sandbox }: Session, night: Night) {
  const { entities, date, screen, signal } = night;
  if (sandbox) sandbox.settings.rows = { ...changeCustomers(sandbox), [SHRUNK]: ROWS_LEFT };
  screen.line(
    `\nThe night after, ${date}: of the ${SHRUNK} the CRM has ${ROWS_LEFT} left, and some customers have changed`,
  );
  const runs = await runAll(target, entities, screen, signal, date);
  screen.line(`\n${runsTable(runs)}\n`);
  const stopped = runs.find(({ report }) => report.outcome === 'quarantined')?.report;
  if (!stopped) return { ok: false, reports: runs.map(({ report }) => report) };
  screen.line(`${stopped.entity}: ${stopped.error}: ${stopped.cause}\n`);
  await showReaders(target, screen);
  const release = await releaseOf(target, stopped, screen, signal);
  await showReaders(target, screen);
  const told = !entities.includes(COMPARED) || (await showChanges(target, screen));
  const others = runs.filter(({ report }) => report !== stopped);
  const ok = told && release.standing === 'latest' && others.every(({ published }) => published !== undefined);
  return { ok, reports: [...runs.map(({ report }) => report), release] };
}

/** Releases a file as `npx --no -- crm-export release` does it. */
async function releaseOf(
  target: Session['target'],
  { run }: NamedRun,
  screen: Screen,
  signal: AbortSignal,
): Promise<NamedRun> {
  screen.line(`\n$ ${CRM_EXPORT} release ${run} --reason "${REASON}" --deployment ${LOCAL_DEPLOYMENT}`);
  const started = await startRun(target, SHRUNK, { release: run, reason: REASON, by: 'npm start' });
  const report = await followRun(target.sfn, SHRUNK, started, { everyMs: 500, signal });
  if (report.status === 'SUCCEEDED') await verifyPublished(target, report);
  return report;
}

async function showReaders(target: Session['target'], screen: Screen): Promise<void> {
  const manifests = createManifests(target);
  const pointer = await manifests.pointer(SHRUNK, 'latest');
  const manifest = pointer && (await manifests.manifest(pointer.manifestKey));
  if (!manifest) return;
  const rows = manyText(manifest.file.rows ?? 0, 'row');
  screen.line(`Readers have ${SHRUNK} of ${manifest.date}, ${rows}${pointer.released ? ', released' : ''}.`);
}

/** Removes one customer from the CRM, adds one, and edits two. */
function changeCustomers({ records, settings }: Sandbox): { [COMPARED]: number } {
  records.updateCustomer(2, { city: 'אילת' });
  records.updateCustomer(4, { city: 'חיפה', streetNumber: '12' });
  records.remove(COMPARED, 7);
  return { [COMPARED]: rowsOf(settings, COMPARED) + 1 };
}

/** Shows the counts of the newest feed, as the command `changes` does. @returns whether they are the expected ones */
async function showChanges({ s3, BucketName }: Target, screen: Screen): Promise<boolean> {
  const bucket = createBucket(s3, BucketName);
  const { feeds } = await feedRecords(bucket, COMPARED, {});
  screen.line(`\n$ ${CRM_EXPORT} changes ${COMPARED} --deployment ${LOCAL_DEPLOYMENT}`);
  for (const feed of feeds) screen.line(feedText(feed));
  const [feed] = feeds;
  return feed?.kind === 'changes' && feed.inserts === 1 && feed.deletes === 1 && feed.updates === 2;
}
