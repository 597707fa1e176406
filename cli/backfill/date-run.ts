import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import { startRun } from '../runs/executions.ts';
import { executionsOf } from '../runs/find-run.ts';
import { type FoundRun, foundRun, type Run, runOf } from '../runs/run/run.ts';
import { printErr } from '../support/print.ts';
import type { Target } from '../support/target.ts';

interface DateRun {
  run: Run;
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
    if (executionArn === undefined) continue;
    const begun = foundRun({ executionArn, startDate: new Date() }, entity, 'export');
    return { run: { ...runOf(begun), date }, executionArn, started: true };
  }
}

/** Exports of an entity that are under way, by their dates. */
export async function runsUnderWay(target: Target, entity: Entity): Promise<Map<string, DateRun>> {
  const runs = new Map<string, DateRun>();
  for await (const found of executionsOf(target, { running: true, entity })) {
    if (found.what !== 'export') continue;
    const run = await datedRun(target, found);
    runs.set(run.date ?? '', { run, executionArn: found.executionArn, started: false });
  }
  return runs;
}

async function datedRun({ sfn, TimeZone: timeZone }: Target, found: FoundRun): Promise<Run> {
  const { name, executionArn } = found;
  const date = /-backfill-(\d{4}-\d\d-\d\d)-\d+$/.exec(name)?.[1];
  if (date !== undefined) return { ...runOf(found), date };
  const execution = found.execution ?? (await sfn.send(new DescribeExecutionCommand({ executionArn })));
  return runOf({ ...found, execution }, { timeZone });
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
