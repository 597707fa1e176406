import type { Deployment } from '../../core/config/deployment.ts';
import { timingOf } from '../../core/config/timing.ts';
import { RunError } from '../../core/errors.ts';
import type { FunctionLog } from '../../core/log/log.ts';
import type { LogFields } from '../../core/log/log-fields.ts';
import { lackingIn, type Night } from '../../core/night/night-record.ts';
import { type Failure, type NightDeps, nightStore, recordNight as record } from '../../core/night/night-store.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { startOfEvent } from '../../core/schedule/next-starts.ts';
import { type NightInput, nightInput } from '../../core/step/run-input.ts';
import type { RunState } from '../../core/step/states.ts';

export interface RecordNightDeps extends NightDeps {
  log: FunctionLog;
}

/** Records the night of a run that ends. Storage errors are only logged, because the hourly check records it again. */
export async function recordNight(state: RunState, deps: RecordNightDeps): Promise<void> {
  const ended = nightOfRun(state, deps.deployment);
  if (ended) await recordDate(ended.date, deps, ended.failure);
}

/** @returns the record of the date, if there is one; `null` if it could not be recorded, which is logged */
export async function recordDate(
  date: string,
  { log, ...deps }: RecordNightDeps,
  failure?: Failure,
): Promise<Night | undefined | null> {
  return orLogged(log, 'night not recorded', { date }, async () => {
    const night = await record(nightStore(date, deps), failure);
    if (night) log.info('night', { date, revision: night.revision, missing: night.complete ? [] : lackingIn(night) });
    return night;
  });
}

/** @returns `null` after an error of the storage, which is logged */
export async function orLogged<T>(
  log: FunctionLog,
  hindered: string,
  fields: LogFields,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    log.warn(hindered, { ...fields, error: error.name });
    return null;
  }
}

/** Keys that the machine adds if the function of a step died. */
interface Crashed {
  crash?: unknown;
  tableCrash?: unknown;
  changesCrash?: unknown;
}

const OF_FEEDS = ['ChangesStopped', 'ChangesNotWritten'];

/**
 * The date of an ended run, and the error that ended it, for the record of the night. `undefined` if the run has no date:
 * its input is invalid, or it is a failed release or table run that changed nothing.
 */
export function nightOfRun(
  state: RunState & Crashed,
  deployment: Deployment,
): { date: string; failure: Failure | undefined } | undefined {
  const { run, released, table, failure } = state;
  const input = nightInput(state.input);
  const asked = input && failure?.error !== 'InvalidInput' ? dateOf(input, state, deployment) : undefined;
  const date = run?.date ?? released?.date ?? table?.date ?? state.date ?? asked;
  const entity = run?.entity ?? input?.entity;
  const error = errorOf(state);
  if (date === undefined) return undefined;
  // A run with its own plan does not belong to the night.
  const isPartial = run ? run.kind === 'partial' : input?.ownPlan;
  const counts = entity && error && !isPartial;
  return { date, failure: counts ? { entity, error } : undefined };
}

/** A missing feed is not an error here, because a night does not wait for feeds. */
function errorOf({ crash, tableCrash, changesCrash, failure }: RunState & Crashed): string | undefined {
  if (changesCrash !== undefined || OF_FEEDS.includes(failure?.error ?? '')) return undefined;
  if (tableCrash !== undefined) return 'TableNotWritten';
  return crash === undefined ? failure?.error : 'StepCrashed';
}

/** The date for a run that ended before CreateExport gave it a date. */
function dateOf(
  { entity, date, scheduledFor }: NightInput,
  { startedAt }: RunState,
  deployment: Deployment,
): string | undefined {
  if (date !== undefined) return date;
  if (scheduledFor === undefined) return dateIn(deployment.timeZone, new Date(startedAt));
  return startOfEvent(timingOf(deployment, entity), new Date(scheduledFor))?.date;
}
