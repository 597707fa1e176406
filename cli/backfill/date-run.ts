import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import { startRun } from '../runs/executions.ts';
import { executionsOf, type FoundRun } from '../runs/find-run.ts';
import { reckonedDate } from '../runs/list/list-runs.ts';
import { printErr } from '../support/print.ts';
import type { Target } from '../support/target.ts';

interface DateRun {
  name: string;
  executionArn: string;
  /** Whether this command started it. */
  started: boolean;
}

/** Whether the configured plan is published for a date. A file of another plan is none of these. */
export async function isPublished(target: Target, entity: Entity, date: string): Promise<boolean> {
  const pointer = await ifReadable(createManifests(target).pointer(entity, date), printErr);
  return pointer !== undefined && pointer.kind !== 'partial';
}

/**
 * The run of a date: one that is under way, or a new one. Commands at the same time start one run for both, for the name
 * of it is made of the date, and Step Functions starts nothing twice under one name.
 * @returns `undefined` where the date is published
 * @throws the signal's reason, before anything is started
 */
export async function runOfDate(
  target: Target,
  entity: Entity,
  date: string,
  signal: AbortSignal,
): Promise<DateRun | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    if (await isPublished(target, entity, date)) return undefined;
    const found = (await runsUnderWay(target, entity)).get(date);
    if (found) return found;
    signal.throwIfAborted();
    const name = `${entity}-backfill-${date}-${attempt}`;
    const executionArn = await startUnlessKnown(target, entity, date, name);
    if (executionArn !== undefined) return { name, executionArn, started: true };
  }
}

/** Exports of an entity that are under way, by their dates. */
export async function runsUnderWay(target: Target, entity: Entity): Promise<Map<string, DateRun>> {
  const runs = new Map<string, DateRun>();
  for await (const run of executionsOf(target, { running: true, entity })) {
    if (run.ofAnother) continue;
    runs.set(await dateOf(target, run), { ...run, started: false });
  }
  return runs;
}

async function dateOf({ sfn, TimeZone = 'UTC' }: Target, { name, executionArn, startDate }: FoundRun): Promise<string> {
  const named = /-backfill-(\d{4}-\d\d-\d\d)-\d+$/.exec(name)?.[1];
  if (named !== undefined) return named;
  const { input } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  return reckonedDate(input, startDate, TimeZone);
}

/** `undefined` where a run of this name has ended; one that is under way with the same input is the answer of AWS. */
async function startUnlessKnown(target: Target, entity: Entity, date: string, name: string) {
  try {
    return await startRun(target, entity, { date }, name);
  } catch (error) {
    if (error instanceof Error && error.name === 'ExecutionAlreadyExists') return undefined;
    throw error;
  }
}
