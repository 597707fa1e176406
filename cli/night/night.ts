import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { timingOf } from '../../core/config/timing.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { nextStarts, rateDays, START_TRIED_HOURS, type Start, type Timing } from '../../core/schedule/next-starts.ts';
import { type PublishedRun, remarksOf } from '../data/stored-manifests.ts';
import type { RuleState } from '../deployment-state.ts';
import { isDated } from '../runs/export-date.ts';
import type { Attempt, Facts } from './night-facts.ts';
import { lastNightOf, lookedBackTo, startsOf } from './night-starts.ts';

/**
 * The state of an entity on a date, for `status` and `report`. The record of the night says which files and tables are there
 * (RecordNight writes it). Beside it count the runs that failed or are under way, the rules, and what readers have now.
 */

/** The outcomes of an entity on a date: docs/operating.md, "What is said of a night". */
export const NIGHT_OUTCOMES = [
  'published',
  'warned',
  'withoutTable',
  'failed',
  'quarantined',
  'notStarted',
  'late',
  'running',
  'due',
  'paused',
  'withoutRule',
  'off',
  'none',
] as const;
export type NightOutcome = (typeof NIGHT_OUTCOMES)[number];

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** A date of an entity, judged. */
export interface Cell {
  entity: Entity;
  date: string;
  outcome: NightOutcome;
  /** The date is due, and readers do not have all of it. */
  missing: boolean;
  published: PublishedRun | null;
  /** The error of its last run, where nothing is published. */
  error: string | null;
  /** Its runs without a published file, oldest first. */
  attempts: Attempt[];
}

/** An entity, judged. */
export interface Judge {
  /** Its date in the night that began last; where that is still open and the date before is missing, the date before. */
  last: string;
  rule: RuleState;
  /** Its next start; `null` where nothing starts it, or the schedule does not say when. */
  next: Start | null;
  /** Its newest run, where it failed after the newest file was published; `null` where the date is missing. */
  failedSince: Attempt | null;
  cellOf: (date: string) => Cell;
}

/** What is the same for all dates of an entity. */
interface Known {
  facts: Facts;
  entity: Entity;
  /** The starts that are looked at, and the next one. */
  starts: Start[];
  /** Before that nothing is missing. */
  since: { time: Date; date: string } | undefined;
  /** The newest date of which a run is known. */
  newest: string;
}

/** Judges the nights that the facts are about, and older dates as far as they are known. */
export function judgesOf(facts: Facts): (entity: Entity) => Judge {
  const { configured, now, deployedAt } = facts;
  const night = lastNightOf(configured, now);
  const from = lookedBackTo(configured, now, facts.nights);
  const all = [...filesOf(facts), ...facts.attempts];
  const time =
    deployedAt ?? all.map(({ startedAt }) => new Date(startedAt)).sort((a, b) => a.getTime() - b.getTime())[0];
  // What was before the first known date may have expired.
  const since = time && { time, date: all.map(({ date }) => date).sort()[0] ?? '' };
  return (entity) => {
    const runs = [...filesOf(facts), ...facts.attempts].filter((run) => run.entity === entity);
    const newest =
      runs
        .map(({ date }) => date)
        .sort()
        .at(-1) ?? '';
    const timing = timingOf(configured, entity);
    const starts = nextStarts(timing, now, 1) ? startsOf(timing, from, now) : rateStarts(facts, timing, runs);
    const known = { facts, entity, starts, since, newest };
    const cell = (date: string) => cellOf(known, date);
    const begun = starts.filter(({ at }) => at <= now);
    const ofNight = starts.find(({ date, at }) => date === night?.date && at <= night.until);
    const date = ofNight?.date ?? begun.at(-1)?.date ?? (newest || dateIn(configured.timeZone, now));
    const before = begun.findLast((start) => start.date < date)?.date;
    const isBehind = before !== undefined && isOpen(cell(date)) && cell(before).missing;
    const rule = facts.rules[entity];
    const last = isBehind ? before : date;
    return {
      last,
      rule,
      next: (rule === 'on' && starts.find(({ at }) => at > now)) || null,
      failedSince: cell(last).missing ? null : failedSince(facts, entity),
      cellOf: cell,
    };
  };
}

/** Entity, date and start of every published run. */
function filesOf({ published, newest }: Facts) {
  const pointers = Object.entries(newest).map(([entity, pointer]) => ({ entity: entity as Entity, ...pointer }));
  return [...published.map(({ manifest }) => manifest), ...pointers];
}

function failedSince(facts: Facts, entity: Entity): Attempt | null {
  const ofEntity = <T extends { entity: string; startedAt: string }>(runs: T[]) =>
    runs.filter((run) => run.entity === entity).toSorted((one, other) => (one.startedAt < other.startedAt ? -1 : 1));
  const last = ofEntity(facts.attempts).at(-1);
  const file = ofEntity(filesOf(facts)).at(-1);
  return last && last.outcome !== 'running' && !(file && last.startedAt < file.startedAt) ? last : null;
}

/**
 * A rule with `rate(…)` counts from a moment that is not known. Its next run comes at the latest so long after the newest one, or
 * after the deployment: that start is the one of the newest date by now.
 */
function rateStarts(
  { configured, now, deployedAt = now }: Facts,
  timing: Timing,
  runs: { startedAt: string }[],
): Start[] {
  const length = rateDays(timing.expression) * DAY_MS;
  const times = runs.map(({ startedAt }) => Date.parse(startedAt));
  const first = (times.length > 0 ? Math.max(...times) : deployedAt.getTime()) + length;
  const passed = Math.floor((now.getTime() - first) / length);
  if (length === 0 || passed < 0) return [];
  return [{ at: new Date(first), date: dateIn(configured.timeZone, new Date(first + passed * length)) }];
}

/** What was exported before the first night; `null` once an entity had a start since the deployment. */
export function beforeFirstNight(facts: Facts): Entity[] | null {
  const { configured, now, deployedAt = now } = facts;
  const begun = ENTITIES.some((entity) => {
    const timing = timingOf(configured, entity);
    const days = rateDays(timing.expression);
    const first =
      days > 0 ? deployedAt.getTime() + days * DAY_MS : nextStarts(timing, deployedAt, 1)?.[0]?.at.getTime();
    return first !== undefined && first <= now.getTime();
  });
  const files = filesOf(facts);
  if (begun || (facts.deployedAt === undefined && files.length > 0)) return null;
  return ENTITIES.filter((entity) => files.some((file) => file.entity === entity));
}

function cellOf(known: Known, date: string): Cell {
  const { facts, entity } = known;
  const isOf = (one: { entity: string; date: string }) => one.entity === entity && one.date === date;
  const marked = facts.recorded.find((night) => night.date === date)?.entities[entity];
  const published = facts.published.find(({ manifest }) => isOf(manifest)) ?? null;
  const attempts = facts.attempts
    .filter((one) => isOf(one) && one.run !== published?.manifest.execution)
    .toSorted((one, other) => (one.startedAt < other.startedAt ? -1 : 1));
  if (published) {
    const { execution, warnings } = published.manifest;
    const waits = marked?.file?.run === execution && marked.tableVersion !== null && marked.table === null;
    const warned = [...remarksOf(published.manifest), ...warnings].length > 0;
    const outcome = waits ? 'withoutTable' : warned ? 'warned' : 'published';
    return { entity, date, published, attempts, error: null, outcome, missing: waits };
  }
  const last = attempts.at(-1);
  const error = last ? last.error : (marked?.error ?? null);
  return { entity, date, published, attempts, error, ...withoutFile(known, date, last, error) };
}

type Judged = Pick<Cell, 'outcome' | 'missing'>;
const missing = (outcome: NightOutcome): Judged => ({ outcome, missing: true });
const open = (outcome: NightOutcome): Judged => ({ outcome, missing: false });

function withoutFile(known: Known, date: string, last: Attempt | undefined, error: string | null): Judged {
  if (last?.outcome === 'running') {
    const due = known.starts.find((start) => start.date === date)?.at ?? new Date(last.startedAt);
    return isLate(known, due) ? missing('late') : open('running');
  }
  if (last?.outcome === 'quarantined' || error === 'FileQuarantined') return missing('quarantined');
  return last || error !== null ? missing('failed') : withoutRun(known, date);
}

/** A run that was started just now may not be listed yet. */
const LISTED_AFTER_MS = 15 * 60_000;

/** A start is lost once nothing brings its run any more: until then EventBridge delivers it, be it late. */
function withoutRun(known: Known, date: string): Judged {
  const { facts, entity, since, newest } = known;
  const first = since && known.starts.find((start) => start.date === date && start.at >= since.time);
  const night = facts.recorded.find((one) => one.date === date);
  // A night that waited for other entities only was recorded before this one was enabled.
  if (
    !first ||
    date < since.date ||
    (night && !night.entities[entity] && facts.recorded.some(({ entities }) => entities[entity]))
  ) {
    return open('none');
  }
  const rule = facts.rules[entity];
  // No record tells when a rule was switched off: since its last night with a run.
  if (rule === 'off' && (night || date > newest)) return open('off');
  if ((rule === 'paused' || rule === 'withoutRule') && date > newest) return missing(rule);
  const lost = new Date(facts.now.getTime() - START_TRIED_HOURS * HOUR_MS - LISTED_AFTER_MS);
  if (first.at <= lost) return missing('notStarted');
  return isLate(known, first.at) ? missing('late') : open('due');
}

function isLate({ facts: { configured, now }, entity }: Known, due: Date): boolean {
  return now.getTime() > due.getTime() + configured.entities[entity].polling.deadlineSeconds * 1000;
}

/** Whether a file may still come by itself. */
export function isOpen({ outcome, missing }: Cell): boolean {
  return !missing && (outcome === 'running' || outcome === 'due');
}

/** Whether readers have all of the date. */
export function isPublished({ outcome }: Cell): boolean {
  return outcome === 'published' || outcome === 'warned';
}

/**
 * The start that makes up for a missed date. Only a plan with dates can still give the records of a past date; any other
 * gives those of today.
 */
export function startText(entities: Entity[], date: string, configured: Deployment, now: Date): string {
  const isGiven = date >= dateIn(configured.timeZone, now) || entities.every((entity) => isDated(configured, entity));
  return `start ${entities.join(' ')}${isGiven ? ` --date ${date}` : ''}`;
}
