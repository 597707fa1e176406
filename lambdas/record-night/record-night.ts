import { RunError } from '../../core/errors.ts';
import type { FunctionLog } from '../../core/log/log.ts';
import { lackingIn } from '../../core/night/lacking.ts';
import type { Failure } from '../../core/night/next-night.ts';
import { type NightDeps, nightStore } from '../../core/night/night-store.ts';
import { recordNight as record } from '../../core/night/record-night.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import type { RunState } from '../../core/step/states.ts';
import { nightOfRun } from './night-of-run.ts';

export interface RecordNightDeps extends NightDeps {
  log: FunctionLog;
}

/** So far back the check looks: a killed run is missed within the week, or by a person. */
const DATES_CHECKED = 7;

/** Records the night of a run that ends. What hinders it is logged: the check comes by every hour. */
export async function recordNight(state: RunState, deps: RecordNightDeps): Promise<void> {
  const ended = nightOfRun(state, deps.deployment);
  if (ended) await recordDate(ended.date, deps, ended.failure);
}

/** Records what killed runs have left out. */
export async function checkNights(now: Date, deps: RecordNightDeps): Promise<void> {
  const today = dateIn(deps.deployment.timeZone, now);
  for (let ago = 0; ago < DATES_CHECKED; ago += 1) await recordDate(dateAfter(today, -ago), deps);
}

async function recordDate(date: string, { log, ...deps }: RecordNightDeps, failure?: Failure): Promise<void> {
  try {
    const night = await record(nightStore(date, deps), failure);
    if (night) log.info('night', { date, revision: night.revision, missing: night.complete ? [] : lackingIn(night) });
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    log.warn('night not recorded', { date, error: error.name });
  }
}
