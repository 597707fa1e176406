import { RULE_WORDS } from '../deployment-state.ts';
import { CELLS, type Cell, isOpen, type NightOutcome, type Nights } from '../night/night.ts';
import { bytesText, manyText } from '../support/text.ts';
import { html, type Markup } from './html.ts';
import { cellText, completenessOf, longDate, monthOf, outcomeText, shortDate, tookText } from './night-words.ts';

/** Most nights whose day number fits into its column on a printed page. */
const PRINTED_NIGHTS = 45;

export function factsId({ entity, date }: Cell): string {
  return `${entity}-${date}`;
}

const WITHOUT_FACTS = new Set<NightOutcome>(['none', 'paused', 'off', 'due']);

/** Whether more than the outcome of a cell is known. */
export function hasFacts({ outcome }: Cell): boolean {
  return !WITHOUT_FACTS.has(outcome);
}

export function lastNightTable(data: Nights): Markup {
  const night = data.rows.map(({ last }) => last);
  const severalDates = night.some(({ date }) => date !== data.lastNight);
  const rows = data.rows.map((row) => {
    const { last: cell, failedSince } = row;
    const { entity, published } = cell;
    const outcome = failedSince ? 'failed' : cell.outcome;
    const file = published?.manifest.file;
    const name = hasFacts(cell)
      ? html`<button class="name" popovertarget="${factsId(cell)}">${entity}</button>`
      : html`${entity}`;
    const date = severalDates ? html` <small>${shortDate(cell.date)}</small>` : null;
    return html`<tr class="${outcome}"><th scope="row">${name}${date}</th>
<td><span class="sign" aria-hidden="true">${CELLS[outcome].sign}</span> ${breakable(outcomeText(row))}</td>
<td class="number">${file?.rows?.toLocaleString('en-US') ?? ''}</td><td class="number usual narrow-off">${usualRows(data, cell)}</td>
<td class="number narrow-off">${bytesText(file?.bytes ?? null)}</td><td class="number narrow-off">${tookText(cell)}</td></tr>`;
  });
  return html`<div class="scroll" role="region" aria-labelledby="last-night-caption" tabindex="0"><table class="list">
<caption id="last-night-caption">${longDate(data.lastNight)}</caption>
<thead><tr><th scope="col">Entity</th><th scope="col">Outcome</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number usual narrow-off">Usual rows</th><th scope="col" class="number narrow-off">Size</th><th scope="col" class="number narrow-off">Stored after</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** A long name may break before a capital letter, because windows can be narrow. */
function breakable(text: string): Markup[] {
  return text.split(/(?<=[a-z])(?=[A-Z])/).map((part, index) => html`${index > 0 ? html`<wbr>` : null}${part}`);
}

/** The median number of rows in earlier nights, for comparison. */
function usualRows(data: Nights, { entity, date }: Cell): string {
  const cells = data.rows.find((row) => row.entity === entity)?.cells ?? [];
  const before = cells.flatMap((cell) => (cell.date < date ? (cell.published?.manifest.file.rows ?? []) : []));
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
  return html`<p class="hint" id="nights-hint">A click, or Enter, on a cell opens what is known of it.</p>
<div class="scroll nights" role="region" aria-labelledby="nights-caption" aria-describedby="nights-hint" tabindex="0"><table class="${dates.length > PRINTED_NIGHTS ? 'grid many' : 'grid'}">
<caption id="nights-caption" class="hidden">Outcome of each entity in the last ${manyText(dates.length, 'night')}</caption>
<thead><tr class="months"><td></td>${months}</tr>
<tr><th scope="col"><span class="hidden">Entity</span></th>${heads}</tr></thead>
<tbody>${body}${wholeNights(data)}</tbody></table></div>
<ul class="legend" aria-label="What the signs mean">${legend(data)}</ul>`;
}

/** A row with the recorded completeness of each night. */
function wholeNights(data: Nights): Markup | null {
  // Before the first night, the record of a date has only what a person exported.
  if (data.recorded.length === 0 || data.exported) return null;
  const cells = data.dates.map((date) => {
    const [text] = completenessOf(data, date);
    if (text === undefined) return html`<td></td>`;
    const outcome = outcomeOfNight(data, date);
    const sign = html`<span aria-hidden="true">${CELLS[outcome].sign}</span>`;
    return html`<td><span class="cell ${outcome}" title="${shortDate(date)}: ${text}">${sign}<span class="hidden">${text}</span></span></td>`;
  });
  return html`<tr><th scope="row">whole night</th>${cells}</tr>\n`;
}

/** The outcome of a whole night: one that is not complete may still become so. */
function outcomeOfNight(data: Nights, date: string): NightOutcome {
  if (data.recorded.some((night) => night.date === date && night.complete)) return 'published';
  const open = data.rows.some(({ cells }) => cells.some((cell) => cell.date === date && isOpen(cell)));
  return open ? 'running' : 'failed';
}

function gridCell(cell: Cell): Markup {
  const { entity, date, outcome } = cell;
  const text = cellText(cell);
  const sign = html`<span aria-hidden="true">${CELLS[outcome].sign}</span>`;
  if (!hasFacts(cell))
    return html`<td><span class="cell ${outcome}" title="${text}">${sign}<span class="hidden">${text}</span></span></td>`;
  const label = `${entity}, ${shortDate(date)}: ${text}`;
  return html`<td><button class="cell ${outcome}" popovertarget="${factsId(cell)}" title="${label}" aria-label="${label}">${sign}</button></td>`;
}

/** Explains only the marks that occur. */
function legend({ rows }: Nights): Markup[] {
  const seen = new Set(rows.flatMap(({ cells }) => cells.map(({ outcome }) => outcome)));
  const shown = (Object.keys(CELLS) as NightOutcome[]).filter((outcome) => outcome !== 'none' && seen.has(outcome));
  return shown.map(
    (outcome) =>
      html`<li><span class="cell ${outcome}" aria-hidden="true">${CELLS[outcome].sign}</span> ${CELLS[outcome].word}</li>`,
  );
}
