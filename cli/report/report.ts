import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { gatherFacts } from '../night/gather.ts';
import { nightlyPlanOf } from '../schedule/nightly-plan.ts';
import { rulesOf } from '../schedule/rule-state.ts';
import {
  type AllDeploymentsOptions,
  numberArgument,
  outputArgument,
  pathArgument,
  withAllDeployments,
  withExamples,
} from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, ENVIRONMENT, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { documentOfFleet, fleetOf } from './fleet.ts';
import { fleetPage } from './fleet-page.ts';
import { headlineOfFleet } from './fleet-words.ts';
import { lastNightOf, markedOf, type ReportData, reportDataOf } from './report-data.ts';
import { headlineOf } from './words.ts';

interface ReportOptions extends TargetOptions, AllDeploymentsOptions {
  nights: number;
  output?: string;
  json?: boolean;
}

/** Registers `report`, which changes nothing in the deployment. */
export function addReport(command: Command): void {
  const described = withAllDeployments(command, ['nights'])
    .option('--nights <number>', 'how many nights', numberArgument('A whole number from 1 to 400.', 1, 400), 30)
    .option(
      '-o, --output <file>',
      'where it is written, over what is there; - is standard output; default: report.html',
      outputArgument,
    )
    .option('--json', 'one JSON document about it')
    .action(report);
  withExamples(described, {
    'report --deployment prod': 'the last 30 nights into report.html',
    'report --nights 90 -o /srv/www/exports.html --deployment prod': 'a quarter, to where others see it',
    'report --all-deployments --profile exports': 'a row for each deployment of the account and region',
  });
}

async function report(options: ReportOptions): Promise<void> {
  const { output = pathArgument('report.html'), json } = options;
  if (output === '-' && json)
    throw new CommandError('Standard output holds the page or the document, not both.', USAGE);
  const warnings: string[] = [];
  const warn = (sentence: string) => {
    warnings.push(sentence);
    printErr(sentence);
  };
  const made = await (options.allDeployments ? ofAll(options, warn, warnings) : ofOne(options, warn, warnings));
  process.exitCode = made.exitCode;
  if (output === '-') return void process.stdout.write(made.page);
  await writeFile(output, made.page).catch((error: unknown) => {
    throw new CommandError(`${output} cannot be written: name a file elsewhere with -o.`, USAGE, { cause: error });
  });
  const said = json ? JSON.stringify({ file: output, ...made.document }) : `${made.headline}. The report: ${output}`;
  process.stdout.write(`${said}\n`);
}

interface Made {
  page: string;
  headline: string;
  /** The document that `--json` prints. */
  document: object;
  exitCode: number;
}

async function ofOne(options: ReportOptions, warn: (sentence: string) => void, warnings: string[]): Promise<Made> {
  const { deployment, nights } = options;
  const target = await connect(options);
  const plan = nightlyPlanOf(await deployedConfiguration(target, warn));
  const data = reportDataOf(await gatherFacts(target, { deployment, plan, nights, now: new Date(), warn }));
  // The page is loaded late: the plotting library is slow to load.
  const { reportPage } = await import('./page.ts');
  const headline = `${headlineOf(data).text} (${deployment})`;
  return { page: reportPage(data, warnings), headline, document: documentOf(data), exitCode: 0 };
}

/** The page is made, whatever is on it: only what is not known is a failure. */
async function ofAll(options: ReportOptions, warn: (sentence: string) => void, warnings: string[]): Promise<Made> {
  const fleet = await fleetOf(options, warn);
  const exitCode = fleet.deployments.some(({ found }) => found === null) ? ENVIRONMENT : 0;
  const headline = headlineOfFleet(fleet.deployments).text;
  return { page: fleetPage(fleet, warnings), headline, document: documentOfFleet(fleet), exitCode };
}

function documentOf(data: ReportData) {
  return {
    headline: headlineOf(data).text,
    lastNight: data.lastNight,
    nights: data.nights.length,
    night: markedOf(data, data.lastNight),
    recorded: data.marked,
    ...lastNightOf(data),
    ...rulesOf(data.rows),
  };
}
