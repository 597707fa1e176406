import type { Entity } from '../../core/config/entities.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { rateDays } from '../../core/schedule/longest-gap.ts';
import { START_TRIED_HOURS, type Start } from '../../core/schedule/timing.ts';
import { remarksOf } from '../data/remarks.ts';
import { type RuleState, ruleStateOf } from '../schedule/rule-state.ts';
import type { Attempt, Cell, Facts, NightOutcome } from './facts.ts';
import { lookedBackTo, nightOf, startsOf } from './starts.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** A run that was started just now may not be listed yet. */
const LISTED_AFTER_MS = 15 * 60_000;

/** What is said of the dates of an entity: by its starts, by what is there, and by what is not. */
export interface Judge {
  /** Its date in the night that began last; of a schedule that is not once a day, that of its newest start. */
  last: string;
  rule: RuleState;
  /** Its next start; `null` where that is not known, or nothing starts it. */
  next: Start | null;
  cellOf: (date: string) => Cell;
}

/** What is the same for all dates of an entity. */
interface Known {
  facts: Facts;
  entity: Entity;
  /** The starts that are looked at, and the next one. */
  starts: Start[];
  /** Before that nothing is missing. */
  since: Date | undefined;
  /** The newest date of which a run is known. */
  newest: string;
}

/** Judges the nights that the facts are about, and older dates as far as they are known. */
export function judgesOf(facts: Facts): (entity: Entity) => Judge {
  const { plan, now, nights } = facts;
  const night = nightOf(plan, now);
  const from = lookedBackTo(plan, now, nights);
  return (entity) => {
    const runs = runsOf(facts, entity);
    const newest =
      runs
        .map(({ date }) => date)
        .sort()
        .at(-1) ?? '';
    const timing = plan.timing[entity];
    const days = rateDays(timing.expression);
    const starts =
      days > 0
        ? rateStarts(
            facts,
            days,
            runs.filter(({ date }) => date === newest),
          )
        : startsOf(timing, from, now);
    const rule = ruleStateOf(facts, plan, entity);
    const started = starts.findLast(({ at }) => at <= now)?.date;
    const known = { facts, entity, starts, since: sinceOf(facts, entity), newest };
    return {
      last: night.get(entity) ?? started ?? (newest || dateIn(plan.timeZone, now)),
      rule,
      next: (rule === 'on' && starts.find(({ at }) => at > now)) || null,
      cellOf: (date) => cellOf(known, date),
    };
  };
}

/** Dates and starts of all known runs of an entity. */
function runsOf({ published, attempts, newest }: Facts, entity: Entity) {
  const manifests = published.map(({ manifest }) => manifest);
  const pointer = newest[entity];
  return [...[...manifests, ...attempts].filter((one) => one.entity === entity), ...(pointer ? [pointer] : [])];
}

/**
 * When a rule with `rate(…)` must have started at the latest: so long after a run there is the next one, whatever moment the rule
 * counts from. Those of about the last day.
 */
function rateStarts({ plan, now, deployedAt = now }: Facts, days: number, runs: { startedAt: string }[]): Start[] {
  const times = runs.map(({ startedAt }) => Date.parse(startedAt));
  const anchor = times.length > 0 ? Math.max(...times) : deployedAt.getTime();
  const passed = Math.max(0, Math.floor((now.getTime() - anchor) / (days * DAY_MS)));
  return Array.from({ length: Math.min(passed, Math.ceil(1 / days) + 1) }, (_, ago) => {
    const at = new Date(anchor + (passed - ago) * days * DAY_MS);
    return { at, date: dateIn(plan.timeZone, at) };
  }).reverse();
}

/** The start of the first known run of an entity; for one that never ran, the deployment, or where that is not known the first run of all. */
function sinceOf(facts: Facts, entity: Entity): Date | undefined {
  const { published, attempts, newest, deployedAt } = facts;
  const files = [...published.map(({ manifest }) => manifest), ...entriesOf(newest)];
  const first = (runs: { startedAt: string }[]) => runs.map(({ startedAt }) => startedAt).sort()[0];
  const own = <T extends { entity: string }>(runs: T[]) => runs.filter((run) => run.entity === entity);
  const time = first(own(files)) ?? first(own(attempts)) ?? deployedAt ?? first(files) ?? first(attempts);
  return time === undefined ? undefined : new Date(time);
}

function entriesOf(newest: Facts['newest']): { entity: string; startedAt: string }[] {
  return Object.entries(newest).map(([entity, { startedAt }]) => ({ entity, startedAt }));
}

function cellOf(known: Known, date: string): Cell {
  const { facts, entity } = known;
  const isOf = (one: { entity: string; date: string }) => one.entity === entity && one.date === date;
  const published = facts.published.find(({ manifest }) => isOf(manifest)) ?? null;
  const attempts = facts.attempts.filter(isOf).sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const lacksTable = published !== null && facts.withoutTable.includes(published.manifest.execution);
  const cell = { entity, date, published, lacksTable, attempts };
  if (published) {
    const warned = lacksTable || [...remarksOf(published.manifest), ...published.manifest.warnings].length > 0;
    return { ...cell, outcome: warned ? 'warned' : 'published', missing: false };
  }
  const last = attempts.at(-1);
  return { ...cell, ...(last ? withoutFile(known, date, last) : withoutRun(known, date)) };
}

type Judged = Pick<Cell, 'outcome' | 'missing'>;
const missing = (outcome: NightOutcome): Judged => ({ outcome, missing: true });
const open = (outcome: NightOutcome): Judged => ({ outcome, missing: false });

function withoutFile(known: Known, date: string, { outcome, startedAt }: Attempt): Judged {
  if (outcome === 'running') {
    const due = known.starts.find((start) => start.date === date)?.at ?? new Date(startedAt);
    return isLate(known, due) ? missing('late') : open('running');
  }
  return missing(outcome === 'gone' || outcome === 'quarantined' ? outcome : 'failed');
}

/** A start is lost once nothing brings its run any more: until then EventBridge delivers it, be it late. */
function withoutRun(known: Known, date: string): Judged {
  const { facts, entity, since, newest } = known;
  const { now } = facts;
  const starts = known.starts.filter((start) => start.date === date);
  const expected = since ? starts.filter(({ at }) => at >= since) : [];
  // The first night of all: of starts at one minute, one run may be listed before the others.
  const fresh = since !== undefined && starts.some(({ at }) => at.getTime() > now.getTime() - LISTED_AFTER_MS);
  const [first] = expected;
  if (!first && !fresh) return open('none');
  const rule = ruleStateOf(facts, facts.plan, entity);
  // No record tells when a rule was switched off: since its last night with a run. One that was paused by hand, or is gone, is
  // missed, for the configuration wants it.
  if (rule !== 'on' && rule !== 'changed' && date > newest) return rule !== 'off' && first ? missing(rule) : open(rule);
  const lost = new Date(now.getTime() - START_TRIED_HOURS * HOUR_MS - LISTED_AFTER_MS);
  if (first && first.at <= lost) return missing('notStarted');
  return first && isLate(known, first.at) ? missing('late') : open('due');
}

function isLate({ facts: { plan, now }, entity }: Known, due: Date): boolean {
  return now.getTime() > due.getTime() + plan.deadlineSeconds[entity] * 1000;
}

/** Whether a file may still come by itself. */
export function isOpen({ outcome, missing }: Cell): boolean {
  return !missing && (outcome === 'running' || outcome === 'due');
}

/** Whether the file of the night is there. */
export function isPublished({ outcome }: Cell): boolean {
  return outcome === 'published' || outcome === 'warned';
}
