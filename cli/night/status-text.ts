import { completenessText, outcomeText } from '../report/night-words.ts';
import { painterOf, SIGNS } from '../runs/run-words.ts';
import { commandFor } from '../support/command-options.ts';
import type { TargetOptions } from '../support/target.ts';
import { printableLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import { CELLS } from './night.ts';
import type { Status, StatusRow } from './status-schema.ts';

type Stream = { isTTY?: boolean };

/** The screen of one deployment: the answer, the missing dates with commands, then the rest. */
export function statusText(status: Status, place: TargetOptions, stream: Stream): string {
  const { deployment, headline, entities, warnings } = status;
  const paint = painterOf(stream);
  const tone = toneOf(status);
  const warned = warnings.map((warning) => paint('warned')(`! ${printableLine(warning)}`));
  if (entities.length === 0) return [paint(tone)(`${SIGNS[tone]} ${headline} (${deployment}).`), ...warned].join('\n');
  return [
    paint(tone)(`${SIGNS[tone]} ${headline} (${deployment})`),
    '',
    ...tableLines(entities, stream),
    '',
    ...footLines(status, place, stream),
    ...warned,
  ].join('\n');
}

export function toneOf({ ok, entities }: Pick<Status, 'ok' | 'entities'>): 'good' | 'bad' | 'open' {
  if (!ok) return 'bad';
  const tones = entities.map(({ state }) => CELLS[state].tone);
  return tones.includes('open') || tones.every((tone) => tone === undefined) ? 'open' : 'good';
}

/** A table with missing dates first, each with its command below it. */
function tableLines(entities: StatusRow[], stream: Stream): string[] {
  const place = (row: StatusRow) => (row.missing || row.failedSince ? 0 : CELLS[row.state].tone === 'open' ? 1 : 2);
  const alike = ({ state, advice }: StatusRow) => `${state} ${advice}`;
  const rows = entities.toSorted((a, b) => place(a) - place(b) || (a.missing ? alike(a).localeCompare(alike(b)) : 0));
  const severalDates = new Set(rows.map(({ date }) => date)).size > 1;
  const cells = rows.map((row) => [
    `${row.failedSince ? SIGNS.bad : CELLS[row.state].sign || '·'} ${row.entity}`,
    outcomeText({ ...row, last: { outcome: row.state, error: row.error } }),
    ...(severalDates ? [row.date] : []),
    row.readers ? `${row.readers.date}, ${ageText(row.readers.hours)} old` : 'nothing',
  ]);
  const names = [
    'entity',
    severalDates ? 'state' : (rows[0]?.date ?? ''),
    ...(severalDates ? ['of'] : []),
    'readers have',
  ];
  const paint = painterOf(stream);
  const lines = textTable(names, cells).split('\n');
  return lines.flatMap((line, index) => {
    const row = rows[index - 1];
    if (!row) return [line];
    const tone = row.failedSince ? 'bad' : CELLS[row.state].tone;
    return [
      tone ? paint(tone)(line) : line,
      ...(row.advice && row.advice !== rows[index]?.advice ? [`    -> ${printableLine(row.advice)}`] : []),
    ];
  });
}

function footLines(
  { alarms, grant, nextStart, madeAt, night, entities }: Status,
  place: TargetOptions,
  stream: Stream,
): string[] {
  const paint = painterOf(stream);
  const raised = alarms === null ? 'unknown' : alarms.length === 0 ? 'none is raised' : `raised: ${alarms.join(', ')}`;
  const at =
    nextStart && `${nextStart.at.slice(0, 16).replace('T', ' ')} UTC, ${nextStart.entity} of ${nextStart.date}`;
  const isPaused = (entity: string) => entities.some((row) => row.entity === entity && row.rule === 'paused');
  const lines = [
    ...(night ? [`Night of ${night.date}: ${completenessText(night, isPaused)}`] : []),
    alarms?.length ? paint('bad')(`Alarms: ${raised}`) : `Alarms: ${raised}`,
    ...(grant?.trouble
      ? [paint('bad')(`Grant: ${printableLine(grant.trouble)}`), `    -> ${commandFor('authorize', place)}`]
      : []),
    ...(grant && !grant.trouble
      ? [`Grant: tokens obtained ${ageText(hoursBetween(grant.obtainedAt, madeAt))} ago`]
      : []),
    `Next start: ${at ?? 'none known'}`,
  ];
  return lines;
}

export function hoursBetween(time: string, now: string): number {
  return Math.floor((Date.parse(now) - Date.parse(time)) / 3_600_000);
}

function ageText(hours: number): string {
  if (hours < 1) return '<1 h';
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
