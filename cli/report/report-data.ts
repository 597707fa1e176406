import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import type { Start } from '../../core/schedule/timing.ts';
import type { PublishedRun } from '../data/manifests.ts';
import { remarksOf } from '../data/remarks.ts';
import type { Run } from '../runs/run/run.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';
import type { NotStarted } from '../schedule/rules.ts';
import { isMissing, isOpen, isPublished, type NightOutcome, nightOutcome } from './night-outcome.ts';
import { nightOf, startsOf } from './starts.ts';

/** A run without a file that counts: it failed, is under way, or succeeded and its file is not to be found. */
export interface Attempt
  extends Pick<Run, 'run' | 'what' | 'kind' | 'unjudged' | 'outcome' | 'startedAt' | 'status' | 'error' | 'cause'> {
  entity: Entity;
  date: string;
}

export interface Facts extends NotStarted {
  deployment: string;
  plan: NightlyPlan;
  now: Date;
  nights: number;
  /** The runs that count for their date. */
  published: PublishedRun[];
  attempts: Attempt[];
  /** Published runs whose table was not written. */
  withoutTable: string[];
}

export interface Cell {
  entity: Entity;
  date: string;
  outcome: NightOutcome;
  published: PublishedRun | null;
  /** The table of this published run was not written. */
  lacksTable: boolean;
  /** The attempts of the night, oldest first. */
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
  withoutRule: boolean;
  /** The cell of the night that began last, whose starts may lie on both sides of midnight. */
  last: Cell;
  /** A cell for each of the nights. */
  cells: Cell[];
}

const DAY_MS = 86_400_000;

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
  const rule = { paused: facts.paused.includes(entity), withoutRule: facts.withoutRule.includes(entity) };
  const all = notStartedFrom(
    dates.map((date) => cellOf(facts, entity, date, expected)),
    rule,
  );
  const cells = all.filter(({ date }) => nights.includes(date));
  const last = all.find(({ date }) => date === lastNight) ?? cellOf(facts, entity, lastNight, expected);
  return { entity, ...rule, last, cells };
}

/** The starts of a rule, and since when a start without a run counts as missing: the first known run. */
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

function cellOf(facts: Facts, entity: Entity, date: string, expected: Expected): Cell {
  const published =
    facts.published.find(({ manifest }) => manifest.entity === entity && manifest.date === date) ?? null;
  const attempts = facts.attempts
    .filter((attempt) => attempt.entity === entity && attempt.date === date)
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const lacksTable = published !== null && facts.withoutTable.includes(published.manifest.execution);
  const outcome = nightOutcome({
    now: facts.now,
    published: published ? { warned: lacksTable || hasWarnings(published.manifest) } : undefined,
    lastAttempt: attempts.at(-1),
    starts: expected.starts.filter((start) => start.date === date),
    since: expected.since,
  });
  return { entity, date, published, lacksTable, attempts, outcome };
}

function hasWarnings(manifest: Manifest): boolean {
  return [...remarksOf(manifest), ...manifest.warnings].length > 0;
}

/**
 * Marks the cells of an entity that no rule starts, since its last night with a run: no record tells when a rule was switched
 * off. Without a rule nothing is still to come, and nobody meant that.
 */
function notStartedFrom(cells: Cell[], { paused, withoutRule }: Pick<Row, 'paused' | 'withoutRule'>): Cell[] {
  if (!paused && !withoutRule) return cells;
  const marked = paused ? 'paused' : 'missing';
  const last = cells.findLastIndex(({ published, attempts }) => published !== null || attempts.length > 0);
  const lacking = ({ outcome }: Cell) => outcome === 'missing' || outcome === 'due';
  return cells.map((cell, index) => (index > last && lacking(cell) ? { ...cell, outcome: marked } : cell));
}

function datesUpTo(last: string, count: number): string[] {
  const end = Date.parse(last);
  return Array.from({ length: count }, (_, index) =>
    new Date(end - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** The entities whose file of the last night is there, missing, or may still come. */
export function lastNightOf({ rows }: ReportData) {
  const names = (wanted: (cell: Cell) => boolean) => rows.flatMap(({ last, entity }) => (wanted(last) ? entity : []));
  return { published: names(isPublished), missing: names(isMissing), stillToCome: names(isOpen) };
}
