import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import type { Cell, Facts } from '../night/facts.ts';
import { judgesOf } from '../night/judge.ts';
import type { MarkedNight } from '../night/marked.ts';
import { nightOf } from '../night/starts.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';
import type { RuleState } from '../schedule/rule-state.ts';

export interface ReportData {
  deployment: string;
  plan: NightlyPlan;
  timeZone: string;
  madeAt: string;
  /** The newest date of the night that began last. */
  lastNight: string;
  /** Dates, oldest first. */
  nights: string[];
  rows: Row[];
  /** What the objects of these nights, and of the last, say of them; nothing of a night that has none. */
  marked: MarkedNight[];
}

interface Row {
  entity: Entity;
  rule: RuleState;
  /** The cell of the night that began last, whose starts may lie on both sides of midnight. */
  last: Cell;
  /** A cell for each of the nights. */
  cells: Cell[];
}

const DAY_MS = 86_400_000;

export function reportDataOf(facts: Facts): ReportData {
  const { deployment, plan, now } = facts;
  const judge = judgesOf(facts);
  const judges = ENTITIES.map((entity) => ({ entity, ...judge(entity) }));
  const lastNight = newestOf([...nightOf(plan, now).values()]) ?? dateIn(plan.timeZone, now);
  const newest = newestOf([lastNight, ...facts.published.map(({ manifest }) => manifest.date)]) ?? lastNight;
  const nights = datesUpTo(newest, facts.nights);
  const marked = facts.marked.filter(({ date }) => date === lastNight || nights.includes(date));
  const rows = judges.map(({ entity, rule, last, cellOf }) => ({
    entity,
    rule,
    last: cellOf(last),
    cells: nights.map(cellOf),
  }));
  return { deployment, plan, timeZone: plan.timeZone, madeAt: now.toISOString(), lastNight, nights, rows, marked };
}

/** What the object of a night says of it; `null` where there is none. */
export function markedOf({ marked }: Pick<ReportData, 'marked'>, date: string): MarkedNight | null {
  return marked.find((night) => night.date === date) ?? null;
}

function newestOf(dates: string[]): string | undefined {
  return dates.sort().at(-1);
}

function datesUpTo(last: string, count: number): string[] {
  const end = Date.parse(last);
  return Array.from({ length: count }, (_, index) =>
    new Date(end - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}
