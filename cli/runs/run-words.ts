import type { Entity } from '../../core/config/entities.ts';
import { bytesText, colorsFor, manyText, printableLine } from '../support/text.ts';
import { OUTCOMES, type Readers, type Run, type Tone } from './run.ts';

/** The outcome of a run in words: for a column, a line or a section. */

type WordedRun = Pick<Run, 'what' | 'outcome' | 'error' | 'status' | 'kind' | 'unjudged' | 'byVerify'>;

/**
 * The outcome of a run for the column of a table: `published`, `published, partial`, `published, by verify`,
 * `ExportFailed`.
 */
export function outcomeWord(run: WordedRun): string {
  return run.byVerify ? `${wordOf(run)}, by verify` : wordOf(run);
}

function wordOf({ what, outcome, error, status, kind, unjudged }: WordedRun): string {
  const { word } = OUTCOMES[outcome];
  if (outcome === 'failed') return printableLine(error ?? status ?? word);
  const file = what === 'release' ? OUTCOMES.release.word : OUTCOMES.published.word;
  const whole = [file, kind === 'partial' && 'partial', unjudged && 'unjudged'].filter(Boolean).join(', ');
  if (outcome === 'withoutTable') return `${whole}, ${word}`;
  return outcome === 'published' ? whole : word;
}

/** The outcome for a line: its word, and the run or the reason that belongs to it. */
export function outcomeText(run: Run): string {
  const { outcome, what, of, startedBy } = run;
  const word = outcomeWord(run);
  if (outcome === 'notDue') return `${word}: another start of the rule exports this date`;
  if (outcome === 'alreadyStarted')
    return `${word}: ${printableLine(startedBy ?? 'another execution')} handles this start of the rule`;
  if (of === null) return word;
  const about = `${what} of ${printableLine(of)}`;
  return word.startsWith(what) ? word.replace(what, () => about) : `${word}, ${about}`;
}

const STANDINGS = {
  latest: 'the latest',
  current: 'the published file of its date',
  superseded: 'superseded by a later run',
};

/** Outcomes with the size of a file or table. */
const MEASURED = new Set<Run['outcome']>(['published', 'stored', 'released', 'release', 'table', 'withoutTable']);

/** A line: `leads of 2026-11-20, published, 1,240 rows, 80.1 kB, the latest`. */
export function headText(run: Run): string {
  const { entity, date, standing, rows, bytes, outcome } = run;
  const what = [entity ?? 'no entity', date].filter(Boolean).join(' of ');
  if (!MEASURED.has(outcome)) return `${what}, ${outcomeText(run)}`;
  const size = [rows === null ? 'uncounted rows' : manyText(rows, 'row'), bytesText(bytes)];
  return [what, outcomeText(run), ...size, standing && STANDINGS[standing]].filter(Boolean).join(', ');
}

/** `ExportFailed: The CRM reported it as failed.` */
export function failureText({ error, status, cause }: Pick<Run, 'error' | 'status' | 'cause'>): string {
  return `${printableLine(error ?? status ?? '')}: ${printableLine(cause ?? 'no cause is recorded.')}`;
}

export function readersText({ ofDate, latest }: Readers, entity: Entity, date: string | null): string {
  if (ofDate) return `Readers have ${entity} of ${ofDate.date}, from the run ${printableLine(ofDate.run)}.`;
  if (!latest) return `Readers have no file of ${entity}.`;
  const still = `still have ${entity} of ${latest.date}, from the run ${printableLine(latest.run)}.`;
  return date === null ? `Readers ${still}` : `Readers have no ${entity} of ${date}. They ${still}`;
}

/** The tone of a run: that of its outcome, unless a later run replaced it or it has warnings. */
export function toneOf({ outcome, standing, warningCount }: Pick<Run, 'outcome' | 'standing' | 'warningCount'>): Tone {
  const { tone } = OUTCOMES[outcome];
  if (standing === 'superseded') return 'idle';
  return tone === 'good' && warningCount ? 'warned' : tone;
}

/** The sign of each tone, for output without colour. */
export const SIGNS: Record<Tone, string> = { good: '✓', warned: '!', bad: '✕', open: '…', idle: '·', unknown: '?' };

export function painterOf(stream: { isTTY?: boolean }): (tone: Tone) => (text: string) => string {
  const { green, yellow, red, cyan, dim } = colorsFor(stream);
  const paint = { good: green, warned: yellow, bad: red, open: cyan, idle: dim, unknown: yellow };
  return (tone) => paint[tone];
}
