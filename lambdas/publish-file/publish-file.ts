import { entityPlan } from '../../core/config/entity-plan.ts';
import { RunError } from '../../core/errors.ts';
import { fieldsOf } from '../../core/export/drift.ts';
import { NOT_RELEASABLE, stoppedText } from '../../core/export/guard-words.ts';
import { failedChecks, isReleasable } from '../../core/export/guards.ts';
import { type Manifest, writeManifest } from '../../core/export/manifest.ts';
import { isReleaseInput } from '../../core/export/release.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { lateTry } from '../../core/step/late-try.ts';
import { type Run, type RunState, runOf, type StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable } from '../../core/storage/read-object.ts';
import { headerChanges, isAccepted } from './compare-header.ts';
import { type Contents, contentsOf } from './contents.ts';
import { type Guarded, guardFile } from './guard-file.ts';
import { judgeStored } from './judge-stored.ts';
import { movePointers, readPointers } from './move-pointers.ts';
import { publishedOutcome } from './published-outcome.ts';
import { readWhole } from './read-whole.ts';
import { releaseFile } from './release-file.ts';
import type { Pass } from './scan-stored.ts';
import { warningsOf } from './warnings.ts';

export interface PublishFileDeps extends Invocation {
  bucket: Bucket;
}

/**
 * Verifies the stored file, writes the manifest, then moves both pointers.
 * Answers PUBLISHED or TABLE_DUE with `manifestKey` and `rows`, or CONTINUE with `scan` when one invocation is not enough.
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
  const run = runOf(state);
  const { file } = state;
  if (!file) throw new Error('the state has no file: DownloadFile was skipped');
  const judged = await judgeStored(file, run, deps);
  const csv = judged.result === 'accepted' && !judged.gzipped ? judged.csv : null;
  const read = await readWhole(file, csv, state, deps);
  if ('later' in read) return read.later;
  refuseCut(file, read.pass);
  refuseDoubtfulEnd(file, csv, read.pass);
  const contents = contentsOf(file, judged, read.pass.scan);
  const guarded = state.machineVersion < 2 ? null : await guardFile(run, { ...contents, bytes: file.bytes }, deps);
  const { drift } = entityPlan(deps.deployment, run.entity);
  const accepted = isAccepted(headerChanges(contents, run.request.columns), drift);

  const manifest = manifestOf(state, run, file, { ...contents, accepted }, guarded);
  const manifestKey = `${run.prefix}_manifest.json`;
  const pointers = run.publish ? await readPointers(deps.bucket, manifest) : [];
  const verdict = await writeManifest(deps.bucket, manifestKey, manifest);
  if (verdict.state === 'quarantined') throw quarantined({ ...manifest, ...verdict });
  const [ofDate = false, latest = false] = await movePointers(deps.bucket, pointers, { ...manifest, manifestKey });
  const { rows, bytes, key } = manifest.file;
  const warningCount = manifest.warnings.length;
  deps.log.info(verdict.state, { key, bytes, rows, latest, warnings: warningCount });
  const outcome = verdict.state === 'published' ? publishedOutcome(run.entity, ofDate, state, deps) : 'UNPUBLISHED';
  return { outcome, manifestKey, rows, warningCount, scan: null };
}

/** What stopped the file, and how a person publishes it nevertheless. */
function quarantined({ entity, date, execution, file, guards }: Manifest): RunError {
  const why = guards ? stoppedText(guards, file.rows) : 'was stopped';
  const command = `npm run cli -- release ${execution} --reason "…"`;
  const way = guards && isReleasable(guards) ? `To publish it as it is: ${command}` : NOT_RELEASABLE;
  return new RunError(
    'FileQuarantined',
    `The file of ${entity} of ${date} is stored, not published: it ${why}. ${way}.`,
  );
}

/** A CSV file must end outside of quotation marks. */
function refuseCut(file: StoredFile, { scan, cut }: Pass): void {
  if (!scan.quoted && !cut) return;
  const where = cut ? 'in the middle of a character' : 'inside a quoted field';
  throw new RunError('FileRejected', `The CSV file at ${file.key} ends ${where}: the CRM cut it off.`);
}

/**
 * A file whose end was marked only by the closing of its connection may be cut off: its shape has to prove it whole. A
 * cut between two rows stays unseen; the manifest warns of it.
 */
function refuseDoubtfulEnd(file: StoredFile, csv: Csv | null, pass: Pass): void {
  const doubt = file.undeclaredEnd && doubtOf(file, csv, pass);
  if (!doubt) return;
  const what = `The file at ${file.key} came without a declared end, and whether it is whole cannot be known: ${doubt}.`;
  throw new RunError('FileRejected', what);
}

function doubtOf({ bytes }: StoredFile, csv: Csv | null, { scan, lastRecordEnded }: Pass): string | undefined {
  if (bytes === 0) return 'it is empty';
  if (!csv) return 'it is no CSV file';
  if (scan.doubts > 0) return 'not all of its line breaks are of one kind';
  if (!lastRecordEnded) return 'its last row does not end with a line break';
  if (csv.separatorProven && scan.irregular > 0) return 'not all of its rows have as many fields as its first';
  return undefined;
}

function manifestOf(
  state: RunState,
  run: Run,
  file: StoredFile,
  contents: Contents & { accepted: boolean },
  guarded: Guarded | null,
): Manifest {
  const { key, bytes, crc32, contentType } = file;
  const { format, compression, dialect, rows, header } = contents;
  return {
    schemaVersion: 1,
    entity: run.entity,
    date: run.date,
    execution: state.execution,
    startedAt: state.startedAt,
    file: { key, bytes, crc32, contentType, format, compression, dialect, rows, header, content: null },
    export: {
      id: run.exportId,
      createdAt: run.createdAt,
      adoptedFrom: run.adopted,
      storedAt: file.storedAt,
      checks: state.checks,
      unansweredCreates: state.unansweredCreates,
      restarts: file.restarts,
    },
    request: run.request,
    fingerprint: run.fingerprint,
    state: stateOf(run, guarded),
    guards: guarded?.report ?? null,
    plan: run.plan,
    kind: run.kind,
    differs: run.differs,
    fields: fieldsOf(run),
    drift: run.drift,
    leftOut: run.excepted,
    releasedBefore: null,
    unchangedSince: null,
    keptUntil: run.keptUntil,
    softwareVersion: run.softwareVersion,
    warnings: [
      ...run.remarks,
      ...warningsOf({
        ...contents,
        requested: run.request.columns,
        unansweredCreates: state.unansweredCreates,
        restarts: file.restarts,
        undeclaredEnd: file.undeclaredEnd,
      }),
      ...(guarded?.remarks ?? []),
    ],
  };
}

function stateOf({ publish }: Run, guarded: Guarded | null): Manifest['state'] {
  if (guarded && failedChecks(guarded.report).length > 0) return 'quarantined';
  return publish ? 'published' : 'unpublished';
}
