import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import type { Manifest } from '../../../core/export/manifest.ts';
import type { Release } from '../../../core/export/release.ts';
import type { GateReport } from '../../../core/gate/report.ts';
import { isReleasable } from '../../../core/gate/words.ts';
import type { Drift } from '../../../core/step/drift.ts';
import type { RunState } from '../../../core/step/states.ts';
import { forgottenRun } from '../../data/forgotten-run.ts';
import { createManifests, ifReadable, type Manifests } from '../../data/manifests.ts';
import { remarksOf } from '../../data/remarks.ts';
import { CommandError } from '../../support/exit.ts';
import type { Target } from '../../support/target.ts';
import { adoptableRun } from '../adoption.ts';
import { type FoundRun, findRun } from '../find-run.ts';
import type { RunRow } from '../list/list-runs.ts';
import { standingBy } from '../list/published-runs.ts';
import { parseState, secondsBetween, tableOf } from '../run-report.ts';
import { waitingOf } from '../waiting.ts';
import { ofManifest } from './forgotten-run.ts';
import { historyOf, stretchesOf } from './history.ts';
import { type Links, linksOf, runbookEntry } from './links.ts';
import { aftermathOf, type Readers } from './readers.ts';
import { type Moment, timelineOf } from './timeline.ts';

/** One run as `show --json` prints it. What is not known is null. */
export interface ShownRun extends Omit<RunRow, 'warningCount' | 'changedColumns' | 'unjudged'> {
  executionArn: string | null;
  endedAt: string | null;
  exportId: string | null;
  checks: number | null;
  /** A path in this repository. */
  runbook: string | null;
  timeline: Moment[];
  /** In the bucket; the manifest is null as long as nothing is published. */
  files: { bucket: string; key: string | null; manifestKey: string | null; keptUntil: string | null };
  warnings: string[];
  /** How the columns of the CRM differ from those of the export before. */
  drift: Drift | null;
  /** What the file was compared with. */
  guards: GateReport | null;
  /** Who released the file, and why. */
  release: Release | null;
  /** Of a run that failed. */
  readers: Readers | null;
  /** The command that publishes its date after all; null where something is published for it, or the same input would fail again. */
  makeUp: string | null;
  /** The table that was written. */
  table: RunState['table'];
  links: Links;
}

type Place = Pick<Target, 'sfn' | 's3' | 'BucketName' | 'StateMachineArn' | 'downloadLogGroup' | 'TimeZone'>;

/**
 * A run by name, ARN or entity (its newest), from its history, or from its manifest where Step Functions has deleted it.
 * @param endpoint of a local cloud
 * @throws CommandError (exit code 2) when neither knows it
 */
export async function showRun(target: Place, run: string, endpoint: string | undefined): Promise<ShownRun> {
  const manifests = createManifests(target);
  const found = await findRun(target, run).catch((error: unknown) => {
    if (error instanceof CommandError) return error;
    throw error;
  });
  if (!(found instanceof CommandError)) return ofExecution(target, manifests, found, endpoint);
  const forgotten = await forgottenRun(manifests, run);
  if (!forgotten) throw found;
  return ofManifest(target, manifests, forgotten, endpoint);
}

async function ofExecution(
  target: Place,
  manifests: Manifests,
  run: FoundRun,
  endpoint: string | undefined,
): Promise<ShownRun> {
  const { name, executionArn, entity = null, status, startDate, stopDate, withoutJob } = run;
  const execution = await target.sfn.send(new DescribeExecutionCommand({ executionArn }));
  const { input, output, error = null, cause = null } = execution;
  const stretches = stretchesOf(await historyOf(target.sfn, executionArn), stopDate ?? new Date(), output);
  const last = stretches.at(-1)?.stays.at(-1);
  const state = parseState(output) ?? last?.after ?? last?.before;
  const manifestKey = manifestKeyOf(state, error);
  const written = tableOf(state, input);
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const manifest = manifestKey === null ? undefined : await ifReadable(manifests.manifest(manifestKey), warn);
  const adoptable = adoptableRun({ name, status, error }, { name: last?.name ?? '', state }) !== undefined;
  const known = {
    date: dateOf(state),
    tableOf: written.tableOf ?? state?.released?.run ?? name,
    input,
    error,
    timeZone: target.TimeZone,
    adoptable,
    releasable: !manifest?.guards || isReleasable(manifest.guards),
    warn,
  };
  const seen = last && { name: last.name, at: last.from, state: last.before };
  return {
    ...{ run: name, executionArn, entity, status, error, cause, withoutJob: withoutJob ?? null },
    ...(await aftermathOf(manifests, run, known)),
    ...ofState(state, target.BucketName, manifestKey),
    ...(await publicationOf(manifests, manifest, warn)),
    releases: releasedBy(state?.input),
    ...written,
    waiting: (status === 'RUNNING' && seen && waitingOf(seen)) || null,
    startedAt: startDate.toISOString(),
    endedAt: stopDate?.toISOString() ?? null,
    seconds: secondsBetween(startDate, stopDate ?? new Date()),
    standing: manifest ? await standingBy(manifests, manifest, warn) : null,
    runbook: runbookEntry(error, status),
    timeline: timelineOf(stretches, { status, error, withoutJob, startedAt: startDate, endedAt: stopDate }),
    warnings: [
      ...warnings,
      ...(manifest ? [...remarksOf(manifest), ...manifest.warnings] : []),
      ...warningsOf(written),
    ],
    drift: manifest?.drift ?? null,
    links: linksOf(target, executionArn, target.StateMachineArn, endpoint),
  };
}

function dateOf(state: RunState | undefined): string | undefined {
  const { run, released, table, date } = state ?? {};
  return (run ?? released ?? table)?.date ?? date ?? undefined;
}

function warningsOf({ table }: Pick<ShownRun, 'table'>): string[] {
  return table?.warnings ?? [];
}

/** A step that has failed names no manifest, even where it wrote one. */
function manifestKeyOf(state: RunState | undefined, error: string | null): string | null {
  if (error === 'FileQuarantined' && state?.run) return `${state.run.prefix}_manifest.json`;
  return state?.manifestKey ?? null;
}

function releasedBy(input: unknown): string | null {
  const run = typeof input === 'object' && input !== null && 'release' in input ? input.release : null;
  return typeof run === 'string' ? run : null;
}

/** What a manifest says of its publication. */
export async function publicationOf(
  manifests: Manifests,
  manifest: Manifest | undefined,
  warn: (sentence: string) => void,
): Promise<Pick<ShownRun, 'state' | 'kind' | 'guards' | 'release'>> {
  if (!manifest) return { state: null, kind: null, guards: null, release: null };
  const { state, kind, guards, entity, execution } = manifest;
  const release = state === 'quarantined' ? await ifReadable(manifests.releaseOf(entity, execution), warn) : null;
  return { state, kind, guards, release: release ?? null };
}

function ofState(state: RunState | undefined, bucket: string, manifestKey: string | null) {
  const { file, run } = state ?? {};
  return {
    files: { bucket, key: file?.key ?? null, manifestKey, keptUntil: run?.keptUntil ?? null },
    exportId: run?.exportId ?? null,
    checks: state?.checks ?? null,
    rows: state?.rows ?? null,
    bytes: file?.bytes ?? null,
  };
}
