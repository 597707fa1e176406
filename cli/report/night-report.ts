import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { type Nights, nightsOf } from '../night/night.ts';
import { gatherFacts } from '../night/night-facts.ts';
import { cannotWriteText, commandFor, pathArgument } from '../support/command-options.ts';
import { withPlace } from '../support/command-text.ts';
import { usageError } from '../support/exit.ts';
import { printErr, printOut, writeText } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { countText, SIGNS } from '../support/text.ts';
import { factsOf, gridTable, lastNightTable } from './grid.ts';
import { html, Markup } from './html.ts';
import { headlineOf, nightName, notesOf, timeText } from './night-words.ts';
import { plotSections } from './plots.ts';
import { STYLE } from './style.ts';

interface ReportOptions extends TargetOptions {
  nights: number;
  output?: string;
}

/** Runs the command `report`, which changes nothing in the deployment. */
export async function report({ output = pathArgument('report.html'), nights, ...place }: ReportOptions): Promise<void> {
  const warnings: string[] = [];
  const warn = (sentence: string) => {
    const warning = withPlace(sentence, place);
    warnings.push(warning);
    printErr(warning);
  };
  const { deployment } = place;
  const data = nightsOf(await gatherFacts(await connect(place), { deployment, nights, now: new Date(), warn }));
  const page = reportPage(data, warnings);
  if (output === '-') return writeText(process.stdout, page);
  await writeFile(output, page).catch((error: unknown) => {
    throw usageError(cannotWriteText(output, error, '-o'), error);
  });
  printOut(`${headlineOf(data).text} (${deployment}). The report: ${output}`);
}

/** The report as one self-contained page. @param warnings about parts that could not be read */
export function reportPage(data: Nights, warnings: string[] = []): string {
  const { tone, text } = headlineOf(data);
  const { deployment, now, configured, dates, grant } = data;
  const title = `${text} (${deployment})`;
  const help = grant?.obtainedAt ? html` To fix this: <code>${commandFor('authorize', { deployment })}</code>` : null;
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
<a class="skip" href="#nights">To the nights</a>
<main>
<header>
<h1 class="${tone}"><span class="mark" aria-hidden="true">${SIGNS[tone]}</span>${title}</h1>
<p>${notesOf(data).join(' · ')}</p>
${grant?.trouble ? html`<p class="warning">Grant: ${withPlace(grant.trouble, { deployment })}${help}</p>` : null}
${warnings.map((warning) => html`<p class="warning">${warning}</p>`)}
</header>
<section aria-labelledby="last-night"><h2 id="last-night">${nightName(data)}</h2>${lastNightTable(data)}</section>
<section aria-labelledby="nights"><h2 id="nights" tabindex="-1">Nights</h2>${gridTable(data)}</section>
${plotSections(data)}
</main>
${factsOf(data)}
<footer>
<p>Deployment ${deployment}, ${countText(dates.length, 'night')}, dates in ${configured.timeZone}. Made ${timeText(now.toISOString())} from the manifests in the
bucket and the executions of the last 90 days: earlier failed runs are unknown.</p>
</footer>
</body>
</html>
`.text;
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
/** Content security policy: the page loads, sends, embeds and runs nothing; only this style is applied. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;
