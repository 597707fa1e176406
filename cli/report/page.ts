import { createHash } from 'node:crypto';
import type { Nights } from '../night/night.ts';
import { SIGNS } from '../runs/run-words.ts';
import { manyText } from '../support/text.ts';
import { factsOf } from './cell-facts.ts';
import { gridTable, lastNightTable } from './grid.ts';
import { html, Markup } from './html.ts';
import { headlineOf, nightName, timeText } from './night-words.ts';
import { plotSections } from './plots.ts';
import { STYLE } from './style.ts';

/** The report as one self-contained page. @param warnings about parts that could not be read */
export function reportPage(data: Nights, warnings: string[] = []): string {
  const { tone, text, notes } = headlineOf(data);
  const { deployment, now, configured, dates } = data;
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
<p>Deployment ${deployment}, ${manyText(dates.length, 'night')}, dates in ${configured.timeZone}. Made ${timeText(now.toISOString())} from the manifests in the
bucket and the executions of the last 90 days: of failed runs before that nothing is known.</p>
</footer>`;
  return framed(`${text} (${deployment})`, body);
}

function framed(title: string, body: Markup): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
${body}
</body>
</html>
`.text;
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
/** Content security policy: the page loads, sends, embeds and runs nothing; only this style is applied. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;
