import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { nightlyPlan } from '../schedule/nightly-plan.ts';
import { numberArgument, outputArgument, pathArgument, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { gatherFacts } from './gather.ts';
import { isMissing, isOpen, isPublished, type ReportData, reportDataOf } from './report-data.ts';
import { headlineOf } from './words.ts';

interface ReportOptions extends TargetOptions {
  nights: number;
  output?: string;
  configuration?: string;
  json?: boolean;
}

/** Registers `report`, which changes nothing in the deployment. */
export function addReport(command: Command): void {
  const described = command
    .option('--nights <number>', 'how many nights', numberArgument('A whole number from 1 to 400.', 1, 400), 30)
    .option(
      '-o, --output <file>',
      'where it is written, over what is there; - is standard output; default: report.html',
      outputArgument,
    )
    .option('--configuration <file>', 'default: config/NAME.json; says when the nights begin', pathArgument)
    .option('--json', 'one JSON document about it')
    .action(report);
  withExamples(described, {
    'report --deployment prod': 'the last 30 nights into report.html',
    'report --nights 90 -o /srv/www/exports.html --deployment prod': 'a quarter, to where others see it',
  });
}

async function report(options: ReportOptions): Promise<void> {
  const { deployment, nights, output = pathArgument('report.html'), json } = options;
  if (output === '-' && json)
    throw new CommandError('Standard output holds the page or the document, not both.', USAGE);
  const warnings: string[] = [];
  const warn = (sentence: string) => {
    warnings.push(sentence);
    printErr(sentence);
  };
  const named = options.configuration === undefined ? undefined : nightlyPlan(options, warn);
  const target = await connect(options);
  const plan = named ?? nightlyPlan(options, warn, target.TimeZone);
  const data = reportDataOf(await gatherFacts(target, { deployment, plan, nights, now: new Date(), warn }));
  // Loaded late: the plotting library is slow to load.
  const { reportPage } = await import('./page.ts');
  const page = reportPage(data, warnings);
  if (output === '-') return void process.stdout.write(page);
  await writeFile(output, page).catch((error: unknown) => {
    throw new CommandError(`${output} cannot be written: name a file elsewhere with -o.`, USAGE, { cause: error });
  });
  const said = json
    ? JSON.stringify(documentOf(data, output))
    : `${headlineOf(data).text} (${deployment}). The report: ${output}`;
  process.stdout.write(`${said}\n`);
}

function documentOf(data: ReportData, file: string) {
  const night = data.rows.map(({ last }) => last);
  const names = (wanted: (cell: (typeof night)[number]) => boolean) => night.filter(wanted).map(({ entity }) => entity);
  return {
    ...{ file, headline: headlineOf(data).text, lastNight: data.lastNight, nights: data.nights.length },
    published: names(isPublished),
    missing: names(isMissing),
    stillToCome: names(isOpen),
    paused: data.rows.flatMap(({ paused, entity }) => (paused ? entity : [])),
  };
}
