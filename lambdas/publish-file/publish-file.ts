import type * as z from 'zod/mini';
import { RunError } from '../../core/errors.ts';
import { judgeExport } from '../../core/export/history.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import { type Manifest, manifestSchema, writeManifest } from '../../core/export/manifest.ts';
import { isReleaseInput } from '../../core/export/release.ts';
import { isReleasable, NOT_RELEASABLE, stoppedText, type Verdict } from '../../core/gate/gate.ts';
import { type Answer, lateTry } from '../../core/step/export-run.ts';
import { type Run, type RunState, runOf, type StoredFile } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable } from '../../core/storage/read-object.ts';
import { movePointers, publishedOutcome, readPointers, wouldReplaceFull } from './pointers.ts';
import { readStored } from './read.ts';
import { releaseFile } from './release-file.ts';

export interface PublishFileDeps extends Invocation {
  bucket: Bucket;
}

/**
 * Verifies the stored file, passes it through the gate, writes the manifest, then moves both pointers. Answers
 * PUBLISHED or TABLE_DUE with `manifestKey` and `rows`, UNPUBLISHED if readers do not get the file, or CONTINUE if the
 * bucket does not answer.
 */
export async function publishFile(state: RunState, deps: PublishFileDeps): Promise<Answer<'PublishFile'>> {
  try {
    return await (!state.run && isReleaseInput(state.input) ? releaseFile : publishStored)(state, deps);
  } catch (error) {
    const later = isUnavailable(error) ? lateTry(error, state, deps) : undefined;
    if (!later) throw error;
    return later;
  }
}

async function publishStored(state: RunState, deps: PublishFileDeps): Promise<Answer<'PublishFile'>> {
  const asked = runOf(state);
  const { file } = state;
  if (!file) throw new Error('the state has no file: DownloadFile was skipped');
  const read = await readStored(file, asked, deps);

  const pointers = asked.publish ? await readPointers(deps.bucket, asked) : [];
  // A partial export is published only if its date has no other export.
  const run = { ...asked, publish: asked.publish && !wouldReplaceFull(asked, pointers) };
  const judged = await judgeExport(run, read.facts, deps);
  const warnings = [...run.remarks, ...read.warnings, ...transferWarnings(state, file), ...judged.warnings];
  const manifest = manifestOf(state, run, file, { ...judged, warnings });
  const manifestKey = `${run.prefix}_manifest.json`;
  const verdict = await writeManifest(deps.bucket, manifestKey, manifest);
  if (verdict.state === 'quarantined') throw quarantined({ ...manifest, ...verdict });
  const moved = verdict.state === 'published' ? await movePointers(deps, pointers, { ...manifest, manifestKey }) : [];
  const [ofDate = false, latest = false] = moved;
  const { rows, bytes, key } = manifest.file;
  const warningCount = manifest.warnings.length;
  deps.log.info(verdict.state, { key, bytes, rows, latest, warnings: warningCount });
  const published = verdict.state === 'published' && (ofDate || run.kind !== 'partial');
  const outcome = published ? publishedOutcome(run, ofDate, deps) : 'UNPUBLISHED';
  return { outcome, manifestKey, rows, warningCount };
}

/** Reports why the gate stopped the file, and whether a person can release it. */
function quarantined(manifest: Manifest): RunError {
  const { guards, file } = manifest;
  const { entity, date } = manifest.run;
  const why = guards ? stoppedText(guards, file) : 'was stopped';
  const way = guards && isReleasable(guards) ? '' : ` ${NOT_RELEASABLE}.`;
  return new RunError(
    'FileQuarantined',
    `The file of ${entity} of ${date} is stored but not published: it ${why}.${way}`,
  );
}

/** The manifest of a stored file that the gate has checked. */
function manifestOf(
  state: RunState,
  run: Run,
  file: StoredFile,
  { facts, history, report, passed, warnings }: Verdict,
): Manifest {
  const manifest: z.input<typeof manifestSchema> = {
    schemaVersion: LAYOUT,
    execution: state.execution,
    startedAt: state.startedAt,
    run,
    file: { ...file, ...facts },
    state: !passed ? 'quarantined' : run.publish ? 'published' : 'unpublished',
    guards: report,
    releasedBefore: history.releasedBefore,
    checks: state.checks,
    unansweredCreates: state.unansweredCreates,
    warnings,
  };
  // Removes what only the steps need, and keys of a later release.
  return manifestSchema.parse(manifest);
}

/** Warnings for readers about the transfer of the file, in sentences. They do not stop a publication. */
function transferWarnings({ unansweredCreates }: RunState, { restarts, undeclaredEnd }: StoredFile): string[] {
  const many = restarts === 1 ? 'once' : `${restarts} times`;
  const warnings: [holds: boolean, warning: string][] = [
    [
      unansweredCreates > 0,
      'An earlier request may have made an export (its answer was lost, unreadable, or an error that does not rule it out): the CRM may hold a further export, which no run downloads.',
    ],
    [
      restarts > 0,
      `The download was restarted ${many}: the file had changed at its origin, its ranges were wrong, or a stored part was missing.`,
    ],
    [
      undeclaredEnd,
      'The end of the connection was the only mark of the end of the file: the last rows may be missing.',
    ],
  ];
  return warnings.flatMap(([holds, warning]) => (holds ? [warning] : []));
}
