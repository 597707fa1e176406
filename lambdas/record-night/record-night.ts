import { RunError } from '../../core/errors.ts';
import type { FunctionLog } from '../../core/log/log.ts';
import type { LogFields } from '../../core/log/log-fields.ts';
import { lackingIn } from '../../core/night/lacking.ts';
import type { Night } from '../../core/night/marker.ts';
import type { Failure } from '../../core/night/next-night.ts';
import { type NightDeps, nightStore } from '../../core/night/night-store.ts';
import { recordNight as record } from '../../core/night/record-night.ts';
import type { RunState } from '../../core/step/states.ts';
import { nightOfRun } from './night-of-run.ts';

export interface RecordNightDeps extends NightDeps {
  log: FunctionLog;
}

/** Records the night of a run that ends. What hinders it is logged: the check comes by every hour. */
export async function recordNight(state: RunState, deps: RecordNightDeps): Promise<void> {
  const ended = nightOfRun(state, deps.deployment);
  if (ended) await recordDate(ended.date, deps, ended.failure);
}

/** @returns what stands of the date; `null` where it could not be recorded, which is logged */
export async function recordDate(
  date: string,
  { log, ...deps }: RecordNightDeps,
  failure?: Failure,
): Promise<{ night: Night | undefined } | null> {
  return orLogged(log, 'night not recorded', { date }, async () => {
    const night = await record(nightStore(date, deps), failure);
    if (night) log.info('night', { date, revision: night.revision, missing: night.complete ? [] : lackingIn(night) });
    return { night };
  });
}

/** @returns `null` where the storage hinders it, which is logged */
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
