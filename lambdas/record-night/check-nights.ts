import { type NightTimes, startsOfNight, timesOfNight } from '../../core/night/expected.ts';
import { lackingIn, type Night } from '../../core/night/marker.ts';
import { watchedSince } from '../../core/night/watched-since.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { orLogged, type RecordNightDeps, recordDate } from './record-night.ts';

/** So far back the check looks: a killed run is missed within the week, or by a person. */
const DATES_CHECKED = 7;

/**
 * So long behind its deadline an incomplete night counts: six checks, for a check may fail, and CloudWatch looks back over some
 * that did not come. Then the alarm ends, so that the next night is mailed anew (docs/adr/0042).
 */
const TOLD_MS = 6 * 60 * 60_000;

/** What is recorded of a date; `null` where that could not be. */
interface Looked {
  date: string;
  recorded: { night: Night | undefined } | null;
}

/** Records what killed runs have left out, and counts whether a night is incomplete whose deadline has just passed. */
export async function checkNights(now: Date, deps: RecordNightDeps): Promise<void> {
  const today = dateIn(deps.deployment.timeZone, now);
  const looked: Looked[] = [];
  for (let ago = 0; ago < DATES_CHECKED; ago += 1) {
    const date = dateAfter(today, -ago);
    looked.push({ date, recorded: await recordDate(date, deps) });
  }
  await orLogged(deps.log, 'nights not checked', {}, () => countIncomplete(now, looked, deps));
}

/** Where it is not known, nothing is counted: the alarm comes where that lasts. */
async function countIncomplete(now: Date, looked: Looked[], { bucket, deployment, log }: RecordNightDeps) {
  const since = await watchedSince(bucket, now);
  const open = looked.filter(({ recorded }) => !recorded?.night?.complete);
  const due = open.filter(({ date }) => isDue(timesOfNight(deployment, date), since, now));
  const incomplete = due.flatMap(({ date, recorded }) => (recorded ? [{ date, night: recorded.night }] : []));
  for (const { date, night } of incomplete) {
    const missing = night ? lackingIn(night) : [...startsOfNight(deployment, date).keys()];
    log.warn('night not complete by its deadline', { date, missing });
  }
  if (incomplete.length > 0) log.measure({ NightIncomplete: 1 });
  else if (due.length === 0) log.measure({ NightIncomplete: 0 });
}

function isDue(night: NightTimes | undefined, since: Date, now: Date): boolean {
  if (!night || night.begins < since) return false;
  const passed = now.getTime() - night.deadline.getTime();
  return passed >= 0 && passed < TOLD_MS;
}
