import { driftTexts } from '../../core/columns/column-changes.ts';
import { isOfVerify } from '../../core/step/run-input.ts';
import { type PublishedRun, remarksOf } from '../data/stored-manifests.ts';
import { adviceFor, CELLS, type Cell, type Nights } from '../night/night.ts';
import type { Attempt } from '../night/night-facts.ts';
import { outcomeWord } from '../runs/run-words.ts';
import { runbookEntry } from '../runs/show-run.ts';
import { completed } from '../support/completed.ts';
import { bytesText, manyText } from '../support/text.ts';
import { factsId, hasFacts } from './grid.ts';
import { html, type Markup } from './html.ts';
import { cellText, longDate, timeText, tookText } from './night-words.ts';

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
${published ? warningsOf(published).map((warning) => html`<p class="warning">${completed(warning, data)}</p>`) : null}
${published ? columnTexts(published).map((text) => html`<p>${text}</p>`) : null}
${published ? html`<dl>${manifestFacts(cell, published)}</dl>` : null}
${attempts.map((one) => attemptFacts({ ...one, cause: one.cause && completed(one.cause, data) }, published !== null))}
${cell.missing ? html`<p>What helps: <code>${adviceFor(cell, [cell], data, { deployment: data.deployment })}</code></p>` : null}
<p><button class="close" popovertarget="${id}" popovertargetaction="hide">Close</button></p></div>\n`;
}

/** Column changes that no warning names. */
function columnTexts({
  manifest: {
    run: { drift },
    warnings,
  },
}: PublishedRun): string[] {
  return drift ? driftTexts(drift).filter((text) => !warnings.includes(text)) : [];
}

/** The warnings of a run. A quarantined file is published only because a person released it. */
function warningsOf({ manifest }: PublishedRun): string[] {
  const released =
    manifest.state === 'quarantined'
      ? ['A person released it; _release.json beside the manifest says who and why.']
      : [];
  return [...remarksOf(manifest), ...released, ...manifest.warnings];
}

function manifestFacts(cell: Cell, { manifest, manifestKey }: PublishedRun): Markup[] {
  const { file, run } = manifest;
  const facts: [string, string][] = [
    ['Rows', file.rows === null ? 'not counted' : file.rows.toLocaleString('en-US')],
    ['Columns', file.header === null ? 'not known' : String(file.header.length)],
    ['Size', `${bytesText(file.bytes)} (${manyText(file.bytes, 'byte')}), ${file.contentType}`],
    ['CRC-32', file.crc32],
    ['Started', timeText(manifest.startedAt)],
    ['Export created', `${timeText(run.createdAt)}${run.adopted === null ? '' : `, by ${run.adopted}`}`],
    [
      'File stored',
      `${timeText(file.storedAt)}, ${tookText(cell)} after the start, ${manyText(manifest.checks, 'check')}`,
    ],
    ['Run', `${manifest.execution}${isOfVerify(manifest.execution, undefined) ? ', made by verify' : ''}`],
    ['Export', run.exportId],
    ['File', file.key],
    ['Manifest', manifestKey],
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
