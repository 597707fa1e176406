import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { timingOf } from '../../core/config/timing.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { DAY_MS, dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { nextStarts, rateDays, START_TRIED_HOURS, type Start, type Timing } from '../../core/schedule/next-starts.ts';
import { publicationWarnings } from '../data/stored-manifests.ts';
import { RULE_WORDS, type RuleState } from '../deployment-state.ts';
import { OUTCOMES } from '../runs/run.ts';
import { isDated } from '../runs/start-run.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { withPlace } from '../support/command-text.ts';
import type { TargetOptions } from '../support/target.ts';
import { SIGNS, type Tone } from '../support/text.ts';
import type { Attempt, Facts } from './night-facts.ts';
import { firstStartNeeded, HOUR_MS, lastNightOf, lastOf, startsOf } from './night-starts.ts';

/**
 * The state of an entity on a date, for `status` and `report`. It comes from the record of the night, which lists files
 * and tables (RecordNight writes it), from runs that failed or are in progress, the rules, and the published files.
 */

/**
 * The outcomes of an entity on a date: see docs/operating.md, "How a night is judged". Each has a sign, a word and a
 * colour: the colour alone never carries the meaning. `bad`: the date is due, and readers do not have all of it.
 */
export const CELLS = {
  published: { sign: SIGNS.good, word: OUTCOMES.published.word, tone: 'good' },
  warned: { sign: SIGNS.warned, word: `${OUTCOMES.published.word}, with a warning`, tone: 'warned' },
  failed: { sign: SIGNS.bad, word: OUTCOMES.failed.word, tone: 'bad' },
  withoutTable: { sign: SIGNS.bad, word: `${OUTCOMES.published.word}, ${OUTCOMES.withoutTable.word}`, tone: 'bad' },
  quarantined: { sign: SIGNS.bad, word: 'quarantined', tone: 'bad' },
  notStarted: { sign: SIGNS.unknown, word: 'not started', tone: 'bad' },
  late: { sign: SIGNS.unknown, word: 'late', tone: 'bad' },
  running: { sign: SIGNS.open, word: OUTCOMES.running.word, tone: 'open' },
  due: { sign: '◦', word: 'still to come', tone: 'open' },
  paused: { sign: '‖', word: RULE_WORDS.paused, tone: 'bad' },
  withoutRule: { sign: '‖', word: RULE_WORDS.withoutRule, tone: 'bad' },
  off: { sign: '‖', word: RULE_WORDS.off, tone: 'idle' },
  none: { sign: '', word: 'nothing was due', tone: 'idle' },
} satisfies Record<string, { sign: string; word: string; tone: Tone }>;
export type NightOutcome = keyof typeof CELLS;
export const NIGHT_OUTCOMES = Object.keys(CELLS) as [NightOutcome, ...NightOutcome[]];

export interface Cell {
  entity: Entity;
  date: string;
  outcome: NightOutcome;
  /** The date is due, but its published data is not complete. */
  missing: boolean;
  published: Manifest | null;
  /** The error of the last run, if no file is published. */
  error: string | null;
  /** The runs without a published file, oldest first. */
  attempts: Attempt[];
}

/** The judged nights of a deployment, which `status` and `report` show. */
export interface Nights extends Facts {
  /** The one date to judge; `undefined`: the last nights. */
  asked: string | undefined;
  /** The newest date to judge: `asked`, or the date of the night that began last. */
  lastNight: string;
  /** The published entities before the first night; `null` afterwards, and for an asked date. */
  exported: Entity[] | null;
  /** The judged dates, oldest first. */
  dates: string[];
  rows: EntityNights[];
}

export interface EntityNights {
  entity: Entity;
  rule: RuleState;
  /** The next start; `null` if no rule starts the entity, or its schedule does not say when. */
  next: Start | null;
  /**
   * The newest run, if it failed although readers have the date; `null` otherwise, and for a question about one date.
   */
  failedSince: Attempt | null;
  /**
   * The cell of the asked date. Without an asked date, the cell of the newest night. If that night is still open and the
   * night before it is missing, the cell of the night before.
   */
  last: Cell;
  cells: Cell[];
}

/** @param asked the one date to judge; by default the last nights */
export function nightsOf(facts: Facts, asked?: string): Nights {
  const { configured, now, nights, published, attempts } = facts;
  const night = lastNightOf(configured, now);
  const lastNight = asked ?? night?.date ?? dateIn(configured.timeZone, now);
  const newest = lastOf([lastNight, ...published.map(({ run }) => run.date)]) ?? lastNight;
  const lastOnes = Array.from({ length: nights }, (_, index) => dateAfter(newest, index + 1 - nights));
  const dates = asked === undefined ? lastOnes : [asked];
  const since = historyStart(facts);
  const from = firstStartNeeded(configured, now, nights);
  const rows = ENTITIES.map((entity): EntityNights => {
    const files = filesOf(facts).filter((run) => run.entity === entity);
    const runs = [...files, ...attempts.filter((run) => run.entity === entity)];
    const timing = timingOf(configured, entity);
    const coming = nextStarts(timing, now, 1);
    const starts = coming ? startsOf(timing, from, now) : rateStarts(facts, timing, runs);
    const history = { facts, entity, starts, since, newest: lastOf(runs.map(({ date }) => date)) ?? '' };
    const last = asked === undefined ? lastCellOf(history, night) : cellOf(history, asked);
    const rule = facts.rules[entity];
    const next = (rule === 'on' && coming?.[0]) || null;
    const failed = last.missing || asked !== undefined ? null : failedSince(history, files);
    return { entity, rule, next, failedSince: failed, last, cells: dates.map((date) => cellOf(history, date)) };
  });
  const exported = asked === undefined ? beforeFirstNight(facts) : null;
  return { ...facts, asked, lastNight, exported, dates, rows };
}

interface EntityHistory {
  facts: Facts;
  entity: Entity;
  /** The starts to judge, and the next one. */
  starts: Start[];
  /** Starts before this time, and dates before this date, never count as missing. */
  since: { time: Date; date: string } | undefined;
  /** The newest date with a known run; empty without a run. */
  newest: string;
}

/** Entity, date and start of every published run. */
function filesOf({ published, newest }: Facts) {
  const pointers = Object.entries(newest).map(([entity, pointer]) => ({ entity: entity as Entity, ...pointer }));
  return [...published.map(({ run, startedAt }) => ({ ...run, startedAt })), ...pointers];
}

/** Files from before the first known date may have expired. */
function historyStart(facts: Facts): EntityHistory['since'] {
  const runs = [...filesOf(facts), ...facts.attempts];
  const [first] = runs.map(({ startedAt }) => startedAt).sort();
  const time = facts.deployedAt ?? (first === undefined ? undefined : new Date(first));
  return time && { time, date: runs.map(({ date }) => date).sort()[0] ?? '' };
}

/** The cell of the night that began last, which may have starts before and after midnight. */
function lastCellOf(history: EntityHistory, night: ReturnType<typeof lastNightOf>): Cell {
  const { facts, starts, newest } = history;
  const begun = starts.filter(({ at }) => at <= facts.now);
  const ofNight = starts.find(({ date, at }) => date === night?.date && at <= night.until);
  const date = ofNight?.date ?? begun.at(-1)?.date ?? (newest || dateIn(facts.configured.timeZone, facts.now));
  const cell = cellOf(history, date);
  const before = isOpen(cell) ? begun.findLast((start) => start.date < date) : undefined;
  const cellBefore = before && cellOf(history, before.date);
  return cellBefore?.missing ? cellBefore : cell;
}

function failedSince({ facts, entity }: EntityHistory, files: { startedAt: string }[]): Attempt | null {
  const last = facts.attempts.findLast((run) => run.entity === entity);
  if (!last || last.outcome === 'running' || last.outcome === 'released') return null;
  const marked = facts.recorded.find(({ date }) => date === last.date)?.entities[entity];
  // The command `table` has written the missing table in the meantime.
  if (last.outcome === 'withoutTable' && marked?.file?.run === last.run && marked.table) return null;
  const newest = lastOf([...files.map(({ startedAt }) => startedAt), facts.endedWell[entity] ?? '']) ?? '';
  return newest > last.startedAt ? null : last;
}

/**
 * The start that is due by a rule with `rate(…)`. Only AWS knows the exact times of these starts. A start is due one
 * period after the newest run or the deployment, at the latest. It counts for the newest date up to now.
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

/** The entities that were exported before the first night; `null` after the first start since the deployment. */
function beforeFirstNight(facts: Facts): Entity[] | null {
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

function cellOf(history: EntityHistory, date: string): Cell {
  const { facts, entity } = history;
  const isOf = (one: { entity: string; date: string }) => one.entity === entity && one.date === date;
  const marked = facts.recorded.find((night) => night.date === date)?.entities[entity];
  const published = facts.published.find(({ run }) => isOf(run)) ?? null;
  const attempts = facts.attempts.filter((one) => isOf(one) && one.run !== published?.execution);
  if (published) {
    const { execution, warnings } = published;
    const waits = marked?.file?.run === execution && marked.tableVersion !== null && marked.table === null;
    const warned = [...publicationWarnings(published), ...warnings].length > 0;
    const outcome = waits ? 'withoutTable' : warned ? 'warned' : 'published';
    return { entity, date, published, attempts, error: null, outcome, missing: waits };
  }
  const last = attempts.at(-1);
  const error = last ? last.error : (marked?.error ?? null);
  const outcome = withoutFile(history, date, last, error);
  return { entity, date, published, attempts, error, outcome, missing: CELLS[outcome].tone === 'bad' };
}

function withoutFile(
  history: EntityHistory,
  date: string,
  last: Attempt | undefined,
  error: string | null,
): NightOutcome {
  if (last?.outcome === 'running') {
    const due = startOf(history, date)?.at ?? new Date(last.startedAt);
    return isLate(history, due) ? 'late' : 'running';
  }
  if (last?.outcome === 'quarantined' || error === 'FileQuarantined') return 'quarantined';
  return last || error !== null ? 'failed' : withoutRun(history, date);
}

/** The start of a date; `undefined` if the date has none since the deployment, or its runs may have expired. */
function startOf({ starts, since }: EntityHistory, date: string): Start | undefined {
  if (!since || date < since.date) return undefined;
  return starts.find((start) => start.date === date && start.at >= since.time);
}

/** The longest time from the start of a run until Step Functions lists the run. */
const LISTED_AFTER_MS = 15 * 60_000;

/** The outcome of a date without a run. A start is lost only when EventBridge no longer tries to deliver it. */
function withoutRun(history: EntityHistory, date: string): NightOutcome {
  const { facts, entity, newest } = history;
  const first = startOf(history, date);
  const night = facts.recorded.find((one) => one.date === date);
  if (!first) return 'none';
  // A night record without this entity was written before the entity was enabled.
  if (night && !night.entities[entity] && facts.recorded.some(({ entities }) => entities[entity])) return 'none';
  const rule = facts.rules[entity];
  // The time when a rule was switched off is not recorded, so the last date with a run stands for it.
  if (rule === 'off' && (night || date > newest)) return 'off';
  if ((rule === 'paused' || rule === 'withoutRule') && date > newest) return rule;
  const lost = new Date(facts.now.getTime() - START_TRIED_HOURS * HOUR_MS - LISTED_AFTER_MS);
  if (first.at <= lost) return 'notStarted';
  return isLate(history, first.at) ? 'late' : 'due';
}

function isLate({ facts: { configured, now }, entity }: EntityHistory, due: Date): boolean {
  return now.getTime() > due.getTime() + configured.entities[entity].polling.deadlineSeconds * 1000;
}

/** Whether a file may still come without action by a person. */
export function isOpen({ outcome }: Cell): boolean {
  return CELLS[outcome].tone === 'open';
}

/** Whether all data of the date is published. */
export function isPublished({ outcome }: Cell): boolean {
  return outcome === 'published' || outcome === 'warned';
}

/**
 * The command that helps with a missing date. If one command helps all cells of a night, they share it. For a failed
 * run, it is `show`, which prints the cause, the entry of the runbook, and the command that replaces the run.
 */
export function adviceFor(
  { entity, date, outcome, attempts, published, error }: Cell,
  night: Cell[],
  { configured, now }: Pick<Facts, 'configured' | 'now'>,
  place: TargetOptions,
): string {
  const run = attempts.at(-1)?.run;
  if (outcome === 'withoutRule') return withPlace('npx cdk deploy --revert-drift', place);
  if (outcome === 'withoutTable') return commandFor(`table ${quoted(published?.execution ?? '')}`, place);
  if (run !== undefined) return commandFor(`show ${quoted(run)}`, place);
  if (error !== null) return commandFor(`show ${entity} --date ${date}`, place);
  const dated = isDated(configured, entity);
  const entities = night.flatMap((cell) => {
    const isAlike = outcome === 'paused' || isDated(configured, cell.entity) === dated;
    return cell.outcome === outcome && cell.date === date && cell.attempts.length === 0 && isAlike ? [cell.entity] : [];
  });
  const command = outcome === 'paused' ? `resume ${entities.join(' ')}` : startText(entities, date, configured, now);
  return commandFor(command, place);
}

/**
 * The `start` command that exports a missed date. Only a plan that selects by date can still export the records of a
 * past date; any other plan exports those of today.
 */
export function startText(entities: Entity[], date: string, configured: Deployment, now: Date): string {
  const isDateNamed =
    date >= dateIn(configured.timeZone, now) || entities.every((entity) => isDated(configured, entity));
  return `start ${entities.join(' ')}${isDateNamed ? ` --date ${date}` : ''}`;
}
