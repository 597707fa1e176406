import { countChanges } from '../../core/columns/column-changes.ts';
import type { Entity } from '../../core/config/entities.ts';
import { lackingIn } from '../../core/night/night-record.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { RULE_WORDS, rulesNotes } from '../deployment-state.ts';
import { CELLS, type Cell, type EntityNights, isOpen, isPublished, type Nights } from '../night/night.ts';
import type { Attempt } from '../night/night-facts.ts';
import { bytesText, countText, durationText } from '../support/text.ts';

interface Headline {
  tone: 'good' | 'bad' | 'open';
  text: string;
}

/** The answer to "did last night work?", or to that question about another date. */
export function headlineOf(data: Nights): Headline {
  const { tone, text } = answerOf(data);
  const failed = data.rows.filter(({ failedSince }) => failedSince).map(({ entity }) => entity);
  const more = [
    ...(failed.length > 0 ? [`failed since: ${failed.join(', ')}`] : []),
    ...(data.grant?.trouble ? ['the grant cannot be used'] : []),
  ];
  return { tone: more.length > 0 ? 'bad' : tone, text: [text, ...more].join('; ') };
}

export function isFuture({ asked, configured, now }: Nights): boolean {
  return asked !== undefined && asked > dateIn(configured.timeZone, now);
}

function answerOf(data: Nights): Headline {
  const { asked, rows, exported } = data;
  const night = rows.map(({ last }) => last);
  if (isFuture(data)) return { tone: 'open', text: `No run of ${asked} is due yet: the date is in the future` };
  const hasRuns = data.published.length + data.attempts.length > 0;
  if (!hasRuns && night.every(({ outcome }) => CELLS[outcome].tone === 'idle'))
    return { tone: 'open', text: 'No run is due yet, and none has started' };
  if (exported && !night.some(({ missing }) => missing)) return firstNight(rows, exported);
  return countsOf(night, { past: asked ?? 'Last night', open: asked ?? 'This night' });
}

function firstNight(rows: EntityNights[], exported: Entity[]): Headline {
  const [next] = rows.flatMap((row) => row.next?.at.toISOString() ?? []).sort();
  const first =
    next === undefined
      ? 'The next start is unknown'
      : `First night at ${next.slice(11, 16)} UTC on ${next.slice(0, 10)}`;
  const isAll = rows.every(({ entity, rule }) => rule === 'off' || exported.includes(entity));
  const tone = exported.length === 0 || rows.some(({ last }) => isOpen(last)) ? 'open' : 'good';
  const soFar = isAll ? 'all entities' : exported.join(', ') || 'nothing';
  return { tone, text: `${first}; exported so far: ${soFar}` };
}

/** @param name how the text names the night after its end (`past`) and before it (`open`) */
function countsOf(night: Cell[], name: { past: string; open: string }): Headline {
  const missing = night.filter((cell) => cell.missing);
  const published = night.filter(isPublished);
  const open = night.filter(isOpen);
  const count = missing.length + published.length + open.length;
  if (count === 0) return { tone: 'open', text: `${name.past}: no run was due` };
  const tone = missing.length > 0 ? 'bad' : open.length > 0 ? 'open' : 'good';
  const of = (cells: Cell[]) => `${cells.length} of ${count}`;
  const names = missing.map(({ entity, outcome }) => (outcome === 'withoutTable' ? `${entity} (table)` : entity));
  const list = names.join(', ');
  if (open.length === 0) {
    const text = missing.length > 0 ? `${of(missing)} missing: ${list}` : `${of(published)} published`;
    return { tone, text: `${name.past}: ${text}` };
  }
  const word = missing.every(({ outcome }) => outcome === 'failed') ? 'failed' : 'missing';
  const bad = `${of(missing)} ${word}: ${list}; ${published.length} published`;
  const sofar = missing.length > 0 ? bad : `${of(published)} published`;
  return { tone, text: `${name.open} so far: ${sofar}, ${open.length} still to come` };
}

/** The heading of the night that began last; before the first night, the heading of all exports so far. */
export function nightName(data: Nights): string {
  if (data.exported) return 'So far';
  return data.rows.some(({ last }) => isOpen(last)) ? 'This night' : 'Last night';
}

/** Facts about the night that began last, for the line below the headline. */
export function notesOf(data: Nights): string[] {
  const night = data.rows.map(({ last }) => last);
  const manifests = night.flatMap(({ published }) => published ?? []);
  const bytes = manifests.reduce((sum, { file }) => sum + file.bytes, 0);
  const rows = manifests.reduce((sum, { file }) => sum + (file.rows ?? 0), 0);
  const changed = manifests.flatMap(({ run: { entity, drift } }) => (drift && countChanges(drift) > 0 ? [entity] : []));
  const warned = night.filter(({ outcome }) => outcome === 'warned').map(({ entity }) => entity);
  const recorded = data.exported ? null : completenessOf(data, data.lastNight);
  return [
    longDate(data.lastNight),
    ...(recorded ? [`the night is ${recorded}`] : []),
    ...(manifests.length > 0 ? [`${countText(rows, 'row')}, ${bytesText(bytes)}`] : []),
    ...(changed.length > 0 ? [`columns changed: ${changed.join(', ')}`] : []),
    ...(warned.length > 0 ? [`with a warning: ${warned.join(', ')}`] : []),
    ...rulesNotes(data.rules),
  ];
}

/** A night as its record has it, with its missing parts: `leads`, or `leads (table)`; `null` without a record. */
export function nightRecord({ recorded }: Nights, date: string) {
  const night = recorded.find((one) => one.date === date);
  if (!night) return null;
  const { revision, complete } = night;
  return { date, revision, complete, lacking: complete ? [] : lackingIn(night) };
}

/** The recorded completeness of a night in words; `null` without a record. */
export function completenessOf(data: Nights, date: string): string | null {
  const night = nightRecord(data, date);
  return night && completenessText(night, (entity) => data.rules[entity as Entity] === 'paused');
}

/**
 * `complete; revision 2`, or `not complete, lacks leads (paused), contacts (table); revision 3`. A paused entity is
 * part of the night: without its file, the night is not complete.
 */
export function completenessText(
  { complete, revision, lacking }: NonNullable<ReturnType<typeof nightRecord>>,
  isPaused: (entity: string) => boolean,
): string {
  const names = lacking.map((name) => (isPaused(name.split(' ')[0] ?? '') ? `${name} (paused)` : name));
  return `${complete ? 'complete' : `not complete, lacks ${names.join(', ')}`}; revision ${revision}`;
}

/** The outcome of a cell in a few words: `published, 1,240 rows`, `failed (ExportFailed)`. */
export function cellText({ outcome, published, error }: Cell): string {
  const { word } = CELLS[outcome];
  const rows = published?.file.rows;
  if (published) return rows === null || rows === undefined ? word : `${word}, ${countText(rows, 'row')}`;
  return error ? `${word} (${error})` : word;
}

/** The outcome of an entity: with the error of a failed run, and with the state of the rule if it is not on. */
export function outcomeText(
  { outcome, error }: Pick<Cell, 'outcome' | 'error'>,
  { rule, failedSince }: Pick<EntityNights, 'rule'> & { failedSince: Pick<Attempt, 'error'> | null },
): string {
  const since = failedSince ? `; ${failedSince.error ?? CELLS.failed.word} since` : '';
  const word = `${error ?? CELLS[outcome].word}${since}`;
  return rule === 'on' || rule === outcome ? word : `${word}; ${RULE_WORDS[rule]}`;
}

export function durationToFileText({ published }: Cell): string {
  if (!published) return '';
  const { startedAt, file } = published;
  return durationText(Math.max(0, Date.parse(file.storedAt) - Date.parse(startedAt)) / 1000);
}

function dateText(parts: Intl.DateTimeFormatOptions): (date: string) => string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...parts });
  return (date) => format.format(new Date(date)).replace(',', '');
}

/** `Friday 20 November 2026` for a YYYY-MM-DD. */
export const longDate = dateText({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
export const shortDate = dateText({ day: 'numeric', month: 'long' });
export const monthOf = dateText({ month: 'long' });

/** `2026-11-20 01:00:05 UTC` for a time from a manifest. */
export function timeText(time: string): string {
  return `${time.slice(0, 19).replace('T', ' ')} UTC`;
}
