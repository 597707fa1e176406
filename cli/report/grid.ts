import type { Manifest } from '../../core/export/manifest.ts';
import { manifestKeyOf } from '../../core/export/pointer.ts';
import { isOfVerify } from '../../core/step/run-input.ts';
import { publicationWarnings } from '../data/stored-manifests.ts';
import { RULE_WORDS } from '../deployment-state.ts';
import { adviceFor, CELLS, type Cell, isOpen, type NightOutcome, type Nights } from '../night/night.ts';
import type { Attempt } from '../night/night-facts.ts';
import { outcomeWord } from '../runs/run.ts';
import { columnTexts, runbookEntry } from '../runs/show-run.ts';
import { withPlace } from '../support/command-text.ts';
import { bytesText, countText, numberText } from '../support/text.ts';
import { html, type Markup } from './html.ts';
import {
  cellText,
  completenessOf,
  durationToFileText,
  longDate,
  monthOf,
  outcomeText,
  shortDate,
  timeText,
} from './night-words.ts';

/** The tables of the page, and the facts that each cell opens. */

/** The most nights for which a day number fits into its column on a printed page. */
const PRINTED_NIGHTS = 45;

function factsId({ entity, date }: Cell): string {
  return `${entity}-${date}`;
}

const WITHOUT_FACTS = new Set<NightOutcome>(['none', 'paused', 'off', 'due']);

/** Whether a cell has more facts than its outcome. */
function hasFacts({ outcome }: Cell): boolean {
  return !WITHOUT_FACTS.has(outcome);
}

export function lastNightTable(data: Nights): Markup {
  const night = data.rows.map(({ last }) => last);
  const severalDates = night.some(({ date }) => date !== data.lastNight);
  const rows = data.rows.map((row) => {
    const { last: cell, failedSince } = row;
    const { entity, published } = cell;
    const outcome = failedSince ? 'failed' : cell.outcome;
    const file = published?.file;
    const name = hasFacts(cell)
      ? html`<button class="name" popovertarget="${factsId(cell)}">${entity}</button>`
      : html`${entity}`;
    const date = severalDates ? html` <small>${shortDate(cell.date)}</small>` : null;
    return html`<tr class="${outcome}"><th scope="row">${name}${date}</th>
<td><span class="sign" aria-hidden="true">${CELLS[outcome].sign}</span> ${outcomeText(cell, row)}</td>
<td class="number">${file?.rows?.toLocaleString('en-US') ?? ''}</td><td class="number usual narrow-off">${usualRows(data, cell)}</td>
<td class="number narrow-off">${bytesText(file?.bytes ?? null)}</td><td class="number narrow-off">${durationToFileText(cell)}</td></tr>`;
  });
  return html`<div class="scroll" role="region" aria-labelledby="last-night-caption" tabindex="0"><table class="list">
<caption id="last-night-caption">${longDate(data.lastNight)}</caption>
<thead><tr><th scope="col">Entity</th><th scope="col">Outcome</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number usual narrow-off">Usual rows</th><th scope="col" class="number narrow-off">Size</th><th scope="col" class="number narrow-off">Stored after</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** The median number of rows in earlier nights, for comparison. */
function usualRows(data: Nights, { entity, date }: Cell): string {
  const cells = data.rows.find((row) => row.entity === entity)?.cells ?? [];
  const before = cells.flatMap((cell) => (cell.date < date ? (cell.published?.file.rows ?? []) : []));
  return before.sort((a, b) => a - b)[Math.floor(before.length / 2)]?.toLocaleString('en-US') ?? '';
}

/** A table with a cell for each entity and night; the newest night is on the right, where a narrow window starts. */
export function gridTable(data: Nights): Markup {
  const { dates, rows } = data;
  const months = [...Map.groupBy(dates, (date) => date.slice(0, 7))].map(([month, { length }]) => {
    return html`<th scope="colgroup" colspan="${length}">${length > 2 ? monthOf(month) : ''}</th>`;
  });
  const heads = dates.map((date) => {
    const last = date === data.lastNight ? html` class="last"` : null;
    return html`<th scope="col"${last}><span aria-hidden="true">${Number(date.slice(8))}</span><span class="hidden">${shortDate(date)}</span></th>`;
  });
  const body = rows.map(
    (row) =>
      html`<tr><th scope="row">${row.entity}${row.rule !== 'on' ? html` <small>${RULE_WORDS[row.rule]}</small>` : null}</th>${row.cells.map((cell) => gridCell(cell))}</tr>\n`,
  );
  return html`<p class="hint" id="nights-hint">To see details, click a cell, or press Enter on it.</p>
<div class="scroll nights" role="region" aria-labelledby="nights-caption" aria-describedby="nights-hint" tabindex="0"><table class="${dates.length > PRINTED_NIGHTS ? 'grid many' : 'grid'}">
<caption id="nights-caption" class="hidden">Outcome of each entity in the last ${countText(dates.length, 'night')}</caption>
<thead><tr class="months"><td></td>${months}</tr>
<tr><th scope="col"><span class="hidden">Entity</span></th>${heads}</tr></thead>
<tbody>${body}${wholeNights(data)}</tbody></table></div>
<ul class="legend" aria-label="What the signs mean">${legend(data)}</ul>`;
}

function wholeNights(data: Nights): Markup | null {
  // Before the first night, the record of a date has only what a person exported.
  if (data.recorded.length === 0 || data.exported) return null;
  const cells = data.dates.map((date) => {
    const text = completenessOf(data, date);
    if (text === null) return html`<td></td>`;
    return html`<td>${tile(outcomeOfNight(data, date), text, `${shortDate(date)}: ${text}`)}</td>`;
  });
  return html`<tr><th scope="row">whole night</th>${cells}</tr>\n`;
}

/** The outcome of a whole night: an incomplete night may still become complete. */
function outcomeOfNight(data: Nights, date: string): NightOutcome {
  if (data.recorded.some((night) => night.date === date && night.complete)) return 'published';
  const open = data.rows.some(({ cells }) => cells.some((cell) => cell.date === date && isOpen(cell)));
  return open ? 'running' : 'failed';
}

function gridCell(cell: Cell): Markup {
  const { entity, date, outcome } = cell;
  const text = cellText(cell);
  if (!hasFacts(cell)) return html`<td>${tile(outcome, text, text)}</td>`;
  const label = `${entity}, ${shortDate(date)}: ${text}`;
  return html`<td><button class="cell ${outcome}" popovertarget="${factsId(cell)}" title="${label}" aria-label="${label}"><span aria-hidden="true">${CELLS[outcome].sign}</span></button></td>`;
}

/** A sign with its text for screen readers. */
function tile(outcome: NightOutcome, text: string, title: string): Markup {
  return html`<span class="cell ${outcome}" title="${title}"><span aria-hidden="true">${CELLS[outcome].sign}</span><span class="hidden">${text}</span></span>`;
}

/** Explains only the marks that occur. */
function legend({ rows }: Nights): Markup[] {
  const outcomes = new Set(rows.flatMap(({ cells }) => cells.map(({ outcome }) => outcome)));
  const shown = (Object.keys(CELLS) as NightOutcome[]).filter((outcome) => outcome !== 'none' && outcomes.has(outcome));
  return shown.map(
    (outcome) =>
      html`<li><span class="cell ${outcome}" aria-hidden="true">${CELLS[outcome].sign}</span> ${CELLS[outcome].word}</li>`,
  );
}

/** A popover for each cell, which the button of the cell opens: the page needs no script. */
export function factsOf(data: Nights): Markup[] {
  // The last night of an entity may be before the shown nights if these are few.
  const all = data.rows.flatMap(({ last, cells }) =>
    cells.some(({ date }) => date === last.date) ? cells : [last, ...cells],
  );
  return all.filter(hasFacts).map((cell) => popover(data, cell));
}

function popover(data: Nights, cell: Cell): Markup {
  const id = factsId(cell);
  const { outcome, published, attempts, entity, date } = cell;
  return html`<div popover id="${id}" role="dialog" aria-labelledby="${id}-title"><h2 id="${id}-title" tabindex="-1" autofocus>${entity}, ${longDate(date)}</h2>
<p class="outcome-line"><span class="cell ${outcome}" aria-hidden="true">${CELLS[outcome].sign}</span> ${cellText(cell)}</p>
${published ? warningsOf(published).map((warning) => html`<p class="warning">${withPlace(warning, data)}</p>`) : null}
${published ? columnTexts(published.run.drift, published.warnings).map((text) => html`<p>${text}</p>`) : null}
${published ? html`<dl>${manifestFacts(cell, published)}</dl>` : null}
${attempts.map((one) => attemptFacts({ ...one, cause: one.cause && withPlace(one.cause, data) }, published !== null))}
${cell.missing ? html`<p>To fix this: <code>${adviceFor(cell, [cell], data, { deployment: data.deployment })}</code></p>` : null}
<p><button class="close" popovertarget="${id}" popovertargetaction="hide">Close</button></p></div>\n`;
}

/** The warnings of a run. A quarantined file is published only because a person released it. */
function warningsOf(manifest: Manifest): string[] {
  const released =
    manifest.state === 'quarantined'
      ? ['A person released the file; _release.json beside the manifest says who and why.']
      : [];
  return [...publicationWarnings(manifest), ...released, ...manifest.warnings];
}

function manifestFacts(cell: Cell, manifest: Manifest): Markup[] {
  const { file, run } = manifest;
  const facts: [string, string][] = [
    ['Rows', file.rows === null ? 'not counted' : numberText(file.rows)],
    ['Columns', file.header === null ? 'unknown' : String(file.header.length)],
    ['Size', `${bytesText(file.bytes)} (${countText(file.bytes, 'byte')}), ${file.contentType}`],
    ['CRC-32', file.crc32],
    ['Started', timeText(manifest.startedAt)],
    ['Export created', `${timeText(run.createdAt)}${run.adopted === null ? '' : `, by ${run.adopted}`}`],
    [
      'File stored',
      `${timeText(file.storedAt)}, ${durationToFileText(cell)} after the start, ${countText(manifest.checks, 'check')}`,
    ],
    ['Run', `${manifest.execution}${isOfVerify(manifest.execution, undefined) ? ', made by verify' : ''}`],
    ['Export', run.exportId],
    ['File', file.key],
    ['Manifest', manifestKeyOf(run.entity, manifest.execution)],
    ['Kept until', run.keptUntil],
    ['Release', run.softwareVersion],
  ];
  return facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
}

function attemptFacts(attempt: Attempt, before: boolean): Markup {
  const { run, startedAt, status, error, cause } = attempt;
  const word = outcomeWord(attempt);
  const name = `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  const runbook = runbookEntry(error, status ?? '');
  const entry = runbook === null ? null : html` Runbook: <code>${runbook}</code>`;
  return html`<section><h3>${before ? 'Another attempt: ' : ''}${name}</h3><p>${cause ?? ''}${entry}</p>
<p class="small">${run}, started ${timeText(startedAt)}</p></section>`;
}
