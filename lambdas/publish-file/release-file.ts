import * as z from 'zod/mini';
import { leftOutToday } from '../../core/columns/left-out.ts';
import { RunError } from '../../core/errors.ts';
import { judgeExport } from '../../core/export/history.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import { type Manifest, readManifest } from '../../core/export/manifest.ts';
import { latestPointerKey, manifestKeyOf, readPointer, runPrefix } from '../../core/export/pointer.ts';
import {
  isOvertaken,
  overtakenText,
  parseReleaseInput,
  type Release,
  unreleasableReason,
  writeRelease,
} from '../../core/export/release.ts';
import { finalChecks, isReleasable, stoppedText, type Verdict } from '../../core/gate/gate.ts';
import type { Judged } from '../../core/gate/subject.ts';
import type { Answer } from '../../core/step/export-run.ts';
import { type RunState, storedFileSchema } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { movePointers, publishedOutcome, readPointers } from './pointers.ts';
import { readStored } from './read.ts';

type Deps = Invocation & { bucket: Bucket };

/** The part of the manifest that DownloadFile wrote into the state. */
const receivedFile = z.object(storedFileSchema.shape);

/**
 * Publishes a file that the gate stopped, because a person requests it: verifies the stored object again, records who
 * requested it and why, then moves the pointers.
 * @throws RunError `InvalidInput` if there is no file to release; nothing is written then
 */
export async function releaseFile(state: RunState, deps: Deps): Promise<Answer<'PublishFile'>> {
  const { bucket } = deps;
  const { entity, release: run, reason, by = null, newNormal } = parseReleaseInput(state.input);
  const manifestKey = manifestKeyOf(entity, run);
  const manifest = await readManifest(bucket, manifestKey);
  const why = unreleasableReason(run, manifest, newNormal);
  if (!manifest || why !== undefined) throw new RunError('InvalidInput', why ?? '');

  const { file } = manifest;
  const again = await asToday(manifest, deps);
  const read = await readStored(file, again, deps);
  refuseUnreleasable(manifest, await judgeExport(again, read.facts, deps));
  const pointers = await readPointers(bucket, manifest.run);
  if (isOvertaken(manifest, pointers[0]?.run)) throw new RunError('InvalidInput', overtakenText(manifest));
  const { execution, startedAt: requestedAt } = state;
  const asked = { schemaVersion: LAYOUT, entity, run, execution, requestedAt, reason, by, newNormal };
  // If the file already has an equal release, this step continues with that release.
  refuseOther(await writeRelease(bucket, `${runPrefix(entity, run)}_release.json`, asked), newNormal);
  const [ofDate, latest = false] = await movePointers(deps, pointers, { ...manifest, manifestKey }, true, newNormal);
  if (!ofDate) throw new RunError('InvalidInput', overtakenText(manifest));
  const { rows, bytes, key } = file;
  const warningCount = manifest.warnings.length;
  deps.log.info('released', { key, bytes, rows, latest, warnings: warningCount });
  const { date, kind } = manifest.run;
  const released = { run, date, kind, latest };
  const outcome = publishedOutcome(manifest.run, ofDate, deps);
  return { outcome, manifestKey, rows, warningCount, file: receivedFile.parse(file), released };
}

/**
 * The run that stored the file, with the columns that today's settings leave out, and to be published.
 * @throws RunError `InvalidInput` if it is unclear which columns today's settings leave out
 */
async function asToday(manifest: Manifest, { bucket, deployment }: Deps): Promise<Manifest['run'] & Judged> {
  const { execution, run, file } = manifest;
  const { entity } = run;
  const entries = deployment.entities[entity].columns.except;
  const last = entries.length > 0 ? (await readPointer(bucket, latestPointerKey(entity))).run : undefined;
  const newest =
    last && last.execution !== execution
      ? await readManifest(bucket, manifestKeyOf(entity, last.execution))
      : undefined;
  const { leftOut, unexplained } = leftOutToday(entries, { run, header: file.header }, newest?.run);
  if (unexplained === undefined) return { ...run, publish: true, excepted: leftOut };
  const what = `no published file shows which column "${unexplained}" of columns.except is: write the name of the column there, or release the run after a later file is published`;
  throw new RunError('InvalidInput', `The run ${execution} cannot be released: ${what}.`);
}

/**
 * Passes the stored bytes through the gate again under today's settings, which may be stricter than when the file was
 * stored.
 */
function refuseUnreleasable({ execution }: Manifest, { report, facts }: Verdict): void {
  if (!report || isReleasable(report)) return;
  const what = `The run ${execution} cannot be released: under the current settings, its file ${stoppedText(finalChecks(report), facts)}.`;
  throw new RunError('InvalidInput', what);
}

function refuseOther({ execution, newNormal, run }: Release, wanted: boolean): void {
  if (newNormal === wanted) return;
  const words = newNormal ? 'as the new normal' : 'without a new normal';
  throw new RunError('InvalidInput', `The run ${run} was already released ${words}, by ${execution}.`);
}
