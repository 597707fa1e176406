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

/** Records nights for killed runs, and counts whether a night is incomplete shortly after its deadline. */
export async function checkNights(now: Date, deps: RecordNightDeps): Promise<void> {
  const today = dateIn(deps.deployment.timeZone, now);
  const checked = new Map<string, Night | undefined | null>();
  for (let ago = 0; ago < DATES_CHECKED; ago += 1) {
    const date = dateAfter(today, -ago);
    checked.set(date, await recordDate(date, deps));
  }
  await orLogged(deps.log, 'nights not checked', {}, () => countIncomplete(now, checked, deps));
}

/**
 * Writes no value if a night cannot be read: missing values raise the alarm.
 * @param checked the record of each date; `null` if recording failed
 */
async function countIncomplete(
  now: Date,
  checked: ReadonlyMap<string, Night | undefined | null>,
  { bucket, deployment, log }: RecordNightDeps,
) {
  const since = await watchedSince(bucket, now);
  const open = [...checked].filter(([, night]) => !night?.complete);
  const due = open.filter(([date]) => isDue(timesOfNight(deployment, date), since, now));
  const incomplete = due.filter(([, night]) => night !== null);
  for (const [date, night] of incomplete) {
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
