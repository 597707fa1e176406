import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import type { Start } from '../../core/schedule/timing.ts';
import type { PublishedRun } from '../data/manifests.ts';
import { remarksOf } from '../data/remarks.ts';
import type { Run } from '../runs/run/run.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';
import { nightOf, startsOf } from './starts.ts';

/**
 * What became of an entity in a night. `gone`: published, but the bucket does not show it any more; `due`: its start is
 * still to come, or was just now; `none`: nothing was to be expected, as before the first run.
 */
export type CellOutcome =
  | 'published'
  | 'warned'
  | 'failed'
  | 'gone'
  | 'missing'
  | 'running'
  | 'due'
  | 'paused'
  | 'none';

/** A run without a file that counts: it failed, is under way, or succeeded and its file is not to be found. */
export interface Attempt
  extends Pick<Run, 'run' | 'what' | 'kind' | 'outcome' | 'startedAt' | 'status' | 'error' | 'cause'> {
  entity: Entity;
  date: string;
}

export interface Facts {
  deployment: string;
  plan: NightlyPlan;
  now: Date;
  nights: number;
  /** The runs that count for their date. */
  published: PublishedRun[];
  attempts: Attempt[];
  /** Published runs whose table was not written. */
  withoutTable: string[];
  /** Entities whose rule is switched off now. */
  paused: Entity[];
}

export interface Cell {
  entity: Entity;
  date: string;
  outcome: CellOutcome;
  published: PublishedRun | null;
  /** Its table was not written. */
  lacksTable: boolean;
  /** Oldest first. */
  attempts: Attempt[];
}

export interface ReportData {
  deployment: string;
  timeZone: string;
  madeAt: string;
  /** The newest date of the night that began last. */
  lastNight: string;
  /** Dates, oldest first. */
  nights: string[];
  rows: Row[];
}

interface Row {
  entity: Entity;
  paused: boolean;
  /** In the night that began last, whose starts may lie on both sides of midnight. */
  last: Cell;
  /** A cell for each of the nights. */
  cells: Cell[];
}

const DAY_MS = 86_400_000;
/** A rule that fired just now may not have its execution listed yet. */
const GRACE_MS = 15 * 60_000;

export function reportDataOf(facts: Facts): ReportData {
  const { deployment, plan, now } = facts;
  const night = nightOf(plan, now);
  const lastNight = newestOf([...night.values()]) ?? dateIn(plan.timeZone, now);
  const newest = newestOf([lastNight, ...facts.published.map(({ manifest }) => manifest.date)]) ?? lastNight;
  const nights = datesUpTo(newest, facts.nights);
  const rows = ENTITIES.map((entity) => rowOf(facts, entity, nights, night.get(entity) ?? lastNight));
  return { deployment, timeZone: plan.timeZone, madeAt: now.toISOString(), lastNight, nights, rows };
}

function newestOf(dates: string[]): string | undefined {
  return dates.sort().at(-1);
}

function rowOf(facts: Facts, entity: Entity, nights: string[], lastNight: string): Row {
  const starts = startsOf(facts.plan, entity, facts.now, nights.length + 2);
  const expected = { starts, since: sinceOf(facts, entity) };
  const dates = [...new Set([...nights, lastNight])].sort();
  const paused = facts.paused.includes(entity);
  const all = pausedFrom(
    dates.map((date) => cellOf(facts, entity, date, expected)),
    paused,
  );
  const cells = all.filter(({ date }) => nights.includes(date));
  const last = all.find(({ date }) => date === lastNight) ?? cellOf(facts, entity, lastNight, expected);
  return { entity, paused, last, cells };
}

/** Before the first known run nothing is missing. */
interface Expected {
  starts: Start[];
  since: Date | undefined;
}

/** The start of the first known run of an entity, or of all entities for one that never ran. */
function sinceOf({ published, attempts }: Facts, entity: Entity): Date | undefined {
  const of = (manifests: Manifest[], others: Attempt[]) =>
    (manifests.length > 0 ? manifests : others).map(({ startedAt }) => startedAt).sort()[0];
  const manifests = published.map(({ manifest }) => manifest);
  const own = <T extends { entity: string }>(all: T[]) => all.filter((one) => one.entity === entity);
  const first = of(own(manifests), own(attempts)) ?? of(manifests, attempts);
  return first === undefined ? undefined : new Date(first);
}

export function isOpen({ outcome }: Cell): boolean {
  return outcome === 'running' || outcome === 'due';
}

/** Whether an expected file is not there. */
export function isMissing({ outcome }: Cell): boolean {
  return outcome === 'failed' || outcome === 'gone' || outcome === 'missing';
}

/** Whether the file of the night is there. */
export function isPublished({ outcome }: Cell): boolean {
  return outcome === 'published' || outcome === 'warned';
}

function cellOf(facts: Facts, entity: Entity, date: string, expected: Expected): Cell {
  const published =
    facts.published.find(({ manifest }) => manifest.entity === entity && manifest.date === date) ?? null;
  const attempts = facts.attempts
    .filter((attempt) => attempt.entity === entity && attempt.date === date)
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const lacksTable = published !== null && facts.withoutTable.includes(published.manifest.execution);
  const known = outcomeOfRuns(published?.manifest, attempts.at(-1), lacksTable);
  const outcome = known ?? outcomeWithout(facts.now, date, expected);
  return { entity, date, published, lacksTable, attempts, outcome };
}

function outcomeOfRuns(
  manifest: Manifest | undefined,
  last: Attempt | undefined,
  lacksTable: boolean,
): CellOutcome | undefined {
  if (manifest) return lacksTable || [...remarksOf(manifest), ...manifest.warnings].length > 0 ? 'warned' : 'published';
  if (last?.outcome === 'running' || last?.outcome === 'gone') return last.outcome;
  return last && 'failed';
}

/** Of a date for which no run is known. */
function outcomeWithout(now: Date, date: string, { starts, since }: Expected): CellOutcome {
  if (since === undefined) return 'none';
  const settled = new Date(now.getTime() - GRACE_MS);
  const ofDate = starts.filter((start) => start.date === date);
  if (ofDate.some(({ at }) => at >= since && at <= settled)) return 'missing';
  return ofDate.some(({ at }) => at > settled) ? 'due' : 'none';
}

/** Nothing records since when a rule is switched off: assumed since the last night with a run. */
function pausedFrom(cells: Cell[], paused: boolean): Cell[] {
  if (!paused) return cells;
  const last = cells.findLastIndex(({ published, attempts }) => published !== null || attempts.length > 0);
  const lacking = ({ outcome }: Cell) => outcome === 'missing' || outcome === 'due';
  return cells.map((cell, index) => (index > last && lacking(cell) ? { ...cell, outcome: 'paused' } : cell));
}

function datesUpTo(last: string, count: number): string[] {
  const end = Date.parse(last);
  return Array.from({ length: count }, (_, index) =>
    new Date(end - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}
