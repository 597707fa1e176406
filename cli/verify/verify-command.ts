import type { Command } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { Checked } from '../checks/check.ts';
import type { Verdict } from '../checks/finding.ts';
import { countOf, documentOf, textOf } from '../checks/print.ts';
import { entitiesArgument, withExamples } from '../support/command-options.ts';
import { RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Verified, verify } from './verify.ts';

interface VerifyCommandOptions extends TargetOptions {
  entity?: Entity;
  alarm?: boolean;
  json?: boolean;
}

/** Registers `verify`; its exit code is 0 only if all that could be checked holds. */
export function addVerify(command: Command): void {
  command
    .option('--entity <name>', `what is exported: ${ENTITIES.join(', ')}; default: leads`, (text) => {
      return entitiesArgument(text)[0];
    })
    .option('--alarm', 'also set an alarm by hand: it mails everybody who hears of alarms')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(verifyAndPrint);
  withExamples(command, {
    'verify --deployment prod': 'after the first deployment, and after an upgrade',
    'verify --deployment prod --entity customers --alarm': 'export customers, and see an alarm arrive',
    'verify --deployment prod --json': 'as a document',
  });
}

async function verifyAndPrint(options: VerifyCommandOptions): Promise<void> {
  const { entity = 'leads', alarm = false, json = false } = options;
  const target = await connect(options);
  printErr(
    `Verifying ${target.stack}: up to ten minutes, longer where the CRM is slow. It exports ${entity} once; one more run fails on purpose, which is mailed.`,
  );
  const words = 'Stopped. What was made for the checks is removed; runs that were started go on to their ends.';
  const verified = await untilInterrupted(words, (signal) => {
    return verify(target, {
      place: options,
      entity,
      alarm,
      signal,
      ...(!json && { onChecked: (one) => printOut(textOf(one, process.stdout)) }),
    });
  });
  print(verified, isProof(verified.checks), json);
}

/** Tells whether anything was checked: that nothing could be is no proof. */
export function isProof(checks: Checked[]): boolean {
  return countOf(checks, 'broken') === 0 && countOf(checks, 'holds') > 0;
}

function print({ checks, runs }: Verified, ok: boolean, json: boolean): void {
  const count = (verdict: Verdict) => countOf(checks, verdict);
  const counts = `${count('holds')} held, ${count('warning')} with a warning, ${count('broken')} did not`;
  if (json) printJson(documentOf(checks, ok));
  else printOut(`${counts}, ${count('unknown')} could not be told.`);
  printErr(runs.length > 0 ? `Runs that it made: ${runs.join(', ')}.` : 'It made no run.');
  process.exitCode = ok ? 0 : RUN_FAILED;
}
