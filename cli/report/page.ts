import { SIGNS } from '../runs/run/words.ts';
import { factsOf } from './facts.ts';
import { framed } from './frame.ts';
import { gridTable, lastNightTable } from './grid.ts';
import { html } from './html.ts';
import { plotSections } from './plots.ts';
import type { ReportData } from './report-data.ts';
import { SCRIPT } from './script.ts';
import { headlineOf, nightName, timeText } from './words.ts';

/** The report: one page that needs nothing but itself. @param warnings what could not be read */
export function reportPage(data: ReportData, warnings: string[] = []): string {
  const { tone, text, notes } = headlineOf(data);
  const { deployment, madeAt, timeZone, nights } = data;
  const body = html`<a class="skip" href="#nights">To the nights</a>
<main>
<header>
<h1 class="${tone}"><span class="mark" aria-hidden="true">${SIGNS[tone]}</span>${text} (${deployment})</h1>
<p>${notes.join(' · ')}</p>
${warnings.map((warning) => html`<p class="warning">${warning}</p>`)}
</header>
<section aria-labelledby="last-night"><h2 id="last-night">${nightName(data)}</h2>${lastNightTable(data)}</section>
<section aria-labelledby="nights"><h2 id="nights" tabindex="-1">Nights</h2>${gridTable(data)}</section>
${plotSections(data)}
</main>
${factsOf(data)}
<footer>
<p>Deployment ${deployment}, ${nights.length} nights, dates in ${timeZone}. Made ${timeText(madeAt)} from the manifests in the
bucket and the executions of the last 90 days: of failed runs before that nothing is known.</p>
</footer>`;
  return framed(`${text} (${deployment})`, body, SCRIPT);
}
