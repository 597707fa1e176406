import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import type { Release } from '../../../core/export/release.ts';
import type { GateReport } from '../../../core/gate/report.ts';
import { isReleasable } from '../../../core/gate/words.ts';
import type { Drift } from '../../../core/step/states.ts';
import { forgottenRun } from '../../data/forgotten-run.ts';
import { createManifests, ifReadable, type Manifests, type PublishedRun } from '../../data/manifests.ts';
import { remarksOf } from '../../data/remarks.ts';
import { quoted } from '../../support/command-options.ts';
import { CommandError } from '../../support/exit.ts';
import type { Target } from '../../support/target.ts';
import { adoptableRun } from '../adoption.ts';
import { findRun } from '../find-run.ts';
import { readInput } from '../run/input.ts';
import { completeRun, createPublished } from '../run/published.ts';
import { FORGOTTEN_AFTER_DAYS, type FoundRun, parseState, type Run, runOfManifest } from '../run/run.ts';
import { waitingOf } from '../run/waiting.ts';
import { historyOf, stretchesOf } from './history.ts';
import { type Links, linksOf, runbookEntry } from './links.ts';
import { type Moment, timelineOf } from './timeline.ts';

/** One run as `show --json` prints it. What is not known is null. */
export interface ShownRun extends Run {
  /** A path in this repository. */
  runbook: string | null;
  timeline: Moment[];
  bucket: string;
  warnings: string[];
  /** How the columns of the CRM differ from those of the export before. */
  drift: Drift | null;
  /** What the file was compared with. */
  guards: GateReport | null;
  /** Who released the file, and why. */
  release: Release | null;
  /** The command that publishes its date after all; null where something is published for it, or the same input would fail again. */
  makeUp: string | null;
  links: Links;
}

type ShownRunSources = Pick<Target, 'sfn' | 's3' | 'BucketName' | 'StateMachineArn' | 'downloadLogGroup' | 'TimeZone'>;

/**
 * A run as `findRun` takes it, from its history, or from its manifest where Step Functions has deleted it.
 * @param endpoint of a local cloud
 * @throws CommandError (exit code 2) when neither knows it
 */
export async function showRun(
  target: ShownRunSources,
  run: string,
  endpoint: string | undefined,
  date?: string,
): Promise<ShownRun> {
  const manifests = createManifests(target);
  const found = await findRun(target, run, date).catch((error: unknown) => {
    if (error instanceof CommandError) return error;
    throw error;
  });
  if (!(found instanceof CommandError)) return ofExecution(target, manifests, found, endpoint);
  const forgotten = await forgottenRun(manifests, run, date);
  if (!forgotten) throw found;
  return ofManifest(target, manifests, forgotten, endpoint);
}

async function ofExecution(
  target: ShownRunSources,
  manifests: Manifests,
  found: FoundRun,
  endpoint: string | undefined,
): Promise<ShownRun> {
  const { name, executionArn, status, stopDate } = found;
  const execution = found.execution ?? (await target.sfn.send(new DescribeExecutionCommand({ executionArn })));
  const { input, output, error = null } = execution;
  const stretches = stretchesOf(await historyOf(target.sfn, executionArn), stopDate ?? new Date(), output);
  const last = stretches.at(-1)?.stays.at(-1);
  const state = parseState(output) ?? last?.after ?? last?.before;
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const waiting = last && status === 'RUNNING' ? waitingOf({ ...last, at: last.from, state: last.before }) : undefined;
  const known = { state, waiting, timeZone: target.TimeZone };
  const { run, own } = await completeRun(createPublished(target, warn), { ...found, execution }, known);
  const adoptable = adoptableRun({ name, status, error }, { name: last?.name ?? '', state }) !== undefined;
  const releasable = !own?.manifest.guards || isReleasable(own.manifest.guards);
  const details = await detailsOf(manifests, own, warn);
  return {
    ...run,
    runbook: runbookEntry(error, status),
    timeline: timelineOf(stretches, run),
    bucket: target.BucketName,
    ...details,
    warnings: [...warnings, ...details.warnings, ...(run.table?.warnings ?? [])],
    makeUp: makeUpOf(run, { input, adoptable, releasable }),
    links: linksOf(target, executionArn, target.StateMachineArn, endpoint),
  };
}

/** All that a manifest knows of its run. */
async function ofManifest(
  target: ShownRunSources,
  manifests: Manifests,
  published: PublishedRun,
  endpoint: string | undefined,
): Promise<ShownRun> {
  const { date, startedAt, export: made } = published.manifest;
  const { id, createdAt, adoptedFrom, storedAt } = made;
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const standing = await createPublished(target, warn).standing(published.manifest);
  const details = await detailsOf(manifests, published, warn);
  const at = (time: string, phase: Moment['phase'], text: string): Moment => ({ at: time, phase, seconds: null, text });
  const begin = `Started, more than ${FORGOTTEN_AFTER_DAYS} days ago or in another machine: its manifest tells alone.`;
  return {
    ...runOfManifest({ ...published, standing }),
    runbook: null,
    timeline: [
      at(startedAt, 'begin', begin),
      adoptedFrom === null
        ? at(createdAt, 'create', `Export ${id} of ${date} created.`)
        : at(startedAt, 'create', `Export ${id} of ${date} adopted from ${adoptedFrom}: created at ${createdAt}.`),
      at(storedAt, 'download', 'File stored.'),
    ],
    bucket: target.BucketName,
    ...details,
    warnings: [...details.warnings, ...warnings],
    makeUp: null,
    links: linksOf(target, null, target.StateMachineArn, endpoint),
  };
}

/** What a manifest says besides what every command tells of a run. */
async function detailsOf(
  manifests: Manifests,
  published: PublishedRun | undefined,
  warn: (sentence: string) => void,
): Promise<Pick<ShownRun, 'warnings' | 'drift' | 'guards' | 'release'>> {
  if (!published) return { warnings: [], drift: null, guards: null, release: null };
  const { manifest } = published;
  const { entity, execution, state, drift, guards } = manifest;
  const release = state === 'quarantined' ? await ifReadable(manifests.releaseOf(entity, execution), warn) : null;
  return { warnings: [...remarksOf(manifest), ...manifest.warnings], drift, guards, release: release ?? null };
}

/** A run with the same input fails again for these: the input is refused, or too large. */
const FAILS_AGAIN = new Set(['InvalidInput', 'States.DataLimitExceeded']);

/** An input that `start` can give; `retry` gives any. */
const plainInputSchema = z.strictObject({
  entity: z.string(),
  date: z.optional(z.string()),
  scheduledFor: z.optional(z.string()),
});

interface Known {
  /** The input of the execution. */
  input: string | undefined;
  /** Whether a retry adopts its export. */
  adoptable: boolean;
  /** Whether a person may release its file. */
  releasable: boolean;
}

/** The command that publishes what a failed run did not; null where something is published, or the same input would fail again. */
function makeUpOf(run: Run, { input, adoptable, releasable }: Known): string | null {
  const { run: name, of, entity, date, status, error, outcome, readers } = run;
  if (error === 'TableNotWritten') return `table ${quoted(of ?? name)}`;
  // File and table are there; the next night tells what this one did not.
  if (error === 'ChangesStopped' || error === 'ChangesNotWritten') return null;
  if (!entity || status === 'RUNNING' || status === 'SUCCEEDED') return null;
  if (readers?.ofDate || FAILS_AGAIN.has(error ?? '')) return null;
  if (outcome === 'quarantined' && releasable) return `release ${quoted(name)} --reason "…"`;
  const plain = !adoptable && date !== null && plainInputSchema.safeParse(readInput(input).given).success;
  // Only CreateExport decides what a plan selects for its date.
  if (!plain || run.kind === null) return `retry ${quoted(name)}`;
  return run.kind === 'window' ? `start ${entity} --date ${date}` : `start ${entity}`;
}
