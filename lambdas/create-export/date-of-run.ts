import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { dependsOnDate } from '../../core/config/relative-date.ts';
import { timingOf } from '../../core/config/timing.ts';
import { RunError } from '../../core/errors.ts';
import { type ExportInput, isOfRule } from '../../core/export/input.ts';
import type { Plan } from '../../core/export/plan.ts';
import { dateProblem } from '../../core/export/valid-date.ts';
import { expiryOf, setIf } from '../../core/oauth/ledger.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { EARLY_MS, startOfEvent } from '../../core/schedule/next-starts.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Table } from './export-record.ts';

/** The message for an input by hand that imitates a rule: it would claim a future start of that rule. */
const STILL_TO_COME = '"scheduledFor" is in the future: leave this field out, or give a "date".';

interface DateDeps {
  deployment: Deployment;
  table: Table;
  now: () => Date;
}

/**
 * The date of a run. Instead of a date, it returns the outcome that ends the run, if a rule started the run and
 * another start counts for the date. A run by hand is not checked and claims no start.
 * @throws RunError `InvalidInput` if no export can have this date
 */
export async function dateOfRun(
  input: ExportInput,
  { startedAt, execution }: RunState,
  { deployment, table, now }: DateDeps,
): Promise<string | Answer<'CreateExport'>> {
  const { timeZone } = deployment;
  const { entity, date, scheduledFor } = input;
  const started = new Date(startedAt);
  if (scheduledFor === undefined || !isOfRule(input)) {
    const today = dateIn(timeZone, started);
    return usable(date ?? dateIn(timeZone, new Date(scheduledFor ?? started)), today, timeZone);
  }
  const latest = new Date(started.getTime() + EARLY_MS);
  const today = dateIn(timeZone, latest);
  const event = new Date(scheduledFor);
  usable(dateIn(timeZone, event), today, timeZone);
  const start = startOfEvent(timingOf(deployment, entity), event);
  if (!start) return { outcome: 'NOT_DUE' };
  const ofStart = usable(start.date, today, timeZone);
  if (start.at > latest) throw new RunError('InvalidInput', STILL_TO_COME);
  const startedBy = await claimStart(table, { entity, at: start.at }, execution, now());
  return startedBy === undefined ? ofStart : { outcome: 'ALREADY_STARTED', startedBy };
}

/**
 * The warning if a run stores today's records under a past date. There is none if its plan depends on the date, or if
 * it adopted the export of that night.
 */
export function pastDateWarnings(
  { input: { date, scheduledFor }, filters }: Plan & { input: { date: string } },
  { startedAt }: Pick<RunState, 'startedAt'>,
  adopted: string | null,
  timeZone: string,
): string[] {
  const today = dateIn(timeZone, new Date(startedAt));
  if (scheduledFor !== undefined || adopted !== null || date >= today || dependsOnDate(filters)) return [];
  return [`These are the records of ${today}, stored under ${date}: the plan does not depend on the date.`];
}

function usable(date: string, today: string, timeZone: string): string {
  const problem = dateProblem(date, today, timeZone);
  if (problem !== undefined) throw new RunError('InvalidInput', problem);
  return date;
}

/**
 * Claims a start by a rule for an execution. A repeated call finds its own claim. EventBridge may deliver an event twice
 * within seconds, and only a conditional write shows which was first.
 * @returns the other execution that has the claim, if there is one
 * @throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing
 */
async function claimStart(
  { client, name }: Table,
  { entity, at }: { entity: Entity; at: Date },
  execution: string,
  now: Date,
): Promise<string | undefined> {
  const pk = `slot#${entity}#${at.toISOString().slice(0, 16)}Z`;
  const claim = { owner: execution, ttl: expiryOf(now.getTime()) };
  const condition = 'attribute_not_exists(pk) OR #owner = :owner';
  const { isSet, item } = await setIf(client, name, pk, claim, { condition });
  return isSet ? undefined : (item?.owner?.S ?? 'another execution');
}
