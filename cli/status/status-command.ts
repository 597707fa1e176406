import { type Command, Option } from 'commander';
import { raisedAlarms } from '../night/raised-alarms.ts';
import { dateArgument, numberArgument, withExamples } from '../support/command-options.ts';
import { ended } from '../support/ended.ts';
import { ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { clientSettings, connect, type TargetOptions } from '../support/target.ts';
import { allText, CALL_SECONDS, eachDeployment, exitCodeOfAll, type Look, withLimits } from './all-deployments.ts';
import type { Status } from './schema.ts';
import { statusOf } from './status.ts';
import { statusText } from './status-text.ts';

interface StatusOptions extends TargetOptions {
  allDeployments?: boolean;
  date?: string;
  json?: boolean;
}

/** Registers `status`, which changes nothing. */
export function addStatus(command: Command): void {
  const all = new Option('--all-deployments', 'a line for each deployment of the account and region, the worst first');
  command
    .addOption(all.conflicts(['deployment']))
    .option(
      '--call-timeout <seconds>',
      `with --all-deployments: how long one call of AWS may take; default: ${CALL_SECONDS}`,
      numberArgument('A whole number of seconds from 1 to 600.', 1, 600),
    )
    .option('--date <YYYY-MM-DD>', 'that date instead of last night', dateArgument)
    .option('--json', 'one JSON document')
    .action(status);
  withExamples(command, {
    'status --deployment prod': 'did last night work?',
    'status --date 2026-11-20 --deployment prod': 'did that date?',
    'status --all-deployments --profile exports': 'which deployments of the account and region lack last night?',
  }).addHelpText(
    'after',
    '\nExit code 0: every date that is due is whole, or none is due yet. 1: something is missing. 3: it cannot be told.',
  );
}

async function status(options: StatusOptions): Promise<void> {
  const now = new Date();
  const { date, json } = options;
  if (options.allDeployments) {
    const alarms = await raisedIn(options);
    const looks = await eachDeployment(options, (target, deployment) =>
      statusOf(target, { place: { ...options, deployment }, date, alarms, now }),
    );
    process.exitCode = exitCodeOfAll(looks.map(({ found }) => (found ? exitCodeOf(found) : ENVIRONMENT)));
    return json ? printJson(documentOf(looks, now)) : printOut(allText(looks, process.stdout));
  }
  const target = await connect(options);
  const found = await statusOf(target, { place: options, date, alarms: await raisedIn(options), now });
  process.exitCode = exitCodeOf(found);
  if (json) printJson(found);
  else printOut(statusText(found, options, process.stdout));
}

function exitCodeOf({ ok }: Status): number {
  return ok === null ? ENVIRONMENT : ok ? 0 : RUN_FAILED;
}

function documentOf(looks: Look[], now: Date) {
  const deployments = looks.map(({ deployment, found, why }) => ({ deployment, why, ...found }));
  return { madeAt: now.toISOString(), ok: process.exitCode === 0, deployments };
}

/** Alarms that are not known hide nothing else. */
async function raisedIn(options: StatusOptions): Promise<Map<string, string[]> | null> {
  const { CloudWatchClient } = await import('@aws-sdk/client-cloudwatch');
  const settings = clientSettings(options.allDeployments ? withLimits(options) : options);
  return raisedAlarms(new CloudWatchClient(settings)).catch((error: unknown) => {
    printErr(`Which alarms are raised is not known: ${ended(error).sentence}`);
    return null;
  });
}
