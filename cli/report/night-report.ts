import { writeFile } from 'node:fs/promises';
import { nightsOf } from '../night/night.ts';
import { gatherFacts } from '../night/night-facts.ts';
import { pathArgument } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printOut, writeText } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { headlineOf } from './night-words.ts';

interface ReportOptions extends TargetOptions {
  nights: number;
  output?: string;
}

/** `report`, which changes nothing in the deployment. */
export async function report(options: ReportOptions): Promise<void> {
  const { output = pathArgument('report.html') } = options;
  const warnings: string[] = [];
  const warn = (sentence: string) => {
    warnings.push(sentence);
    printErr(sentence);
  };
  const { deployment, nights } = options;
  const target = await connect(options);
  const configured = await deployedConfiguration(target, warn);
  const data = nightsOf(await gatherFacts(target, { deployment, configured, nights, now: new Date(), warn }));
  // Loaded late, because the plotting library is slow to load.
  const { reportPage } = await import('./page.ts');
  const page = reportPage(data, warnings);
  if (output === '-') return writeText(process.stdout, page);
  await writeFile(output, page).catch((error: unknown) => {
    throw new CommandError(`${output} cannot be written: name a file elsewhere with -o.`, USAGE, { cause: error });
  });
  printOut(`${headlineOf(data).text} (${data.deployment}). The report: ${output}`);
}
