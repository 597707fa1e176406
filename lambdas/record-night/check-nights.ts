import { lackingIn, type Night } from '../../core/night/night-record.ts';
import { type NightTimes, startsOfNight, timesOfNight } from '../../core/night/night-schedule.ts';
import { watchedSince } from '../../core/night/watched-since.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { orLogged, type RecordNightDeps, recordDate } from './record-night.ts';

/** The number of dates that the check covers. Within a week, people notice a killed run. */
const DATES_CHECKED = 7;

/**
 * How long after its deadline an incomplete night counts. Six hourly checks allow for failed ones, because CloudWatch
 * also evaluates earlier periods. Then the alarm ends, so that the next night raises it again (docs/adr/0042).
 */
const COUNTED_MS = 6 * 60 * 60_000;

/** The record of a date; `null` if recording failed. */
interface CheckedNight {
  date: string;
  recorded: { night: Night | undefined } | null;
}

/** Records nights for killed runs, and counts whether a night is incomplete shortly after its deadline. */
export async function checkNights(now: Date, deps: RecordNightDeps): Promise<void> {
  const today = dateIn(deps.deployment.timeZone, now);
  const checked: CheckedNight[] = [];
  for (let ago = 0; ago < DATES_CHECKED; ago += 1) {
    const date = dateAfter(today, -ago);
    checked.push({ date, recorded: await recordDate(date, deps) });
  }
  await orLogged(deps.log, 'nights not checked', {}, () => countIncomplete(now, checked, deps));
}

/** Writes no value if a night cannot be read: missing values raise the alarm. */
async function countIncomplete(now: Date, checked: CheckedNight[], { bucket, deployment, log }: RecordNightDeps) {
  const since = await watchedSince(bucket, now);
  const open = checked.filter(({ recorded }) => !recorded?.night?.complete);
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
  return passed >= 0 && passed < COUNTED_MS;
}
