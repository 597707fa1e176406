import type { Command } from 'commander';
import type { Checked } from '../checks/check.ts';
import type { Verdict } from '../checks/finding.ts';
import { countOf, documentOf, textOf } from '../checks/print.ts';
import { pathArgument, withExamples } from '../support/command-options.ts';
import { printJson, printOut } from '../support/print.ts';
import { colorsFor, manyText } from '../support/text.ts';
import type { DoctorOptions } from './begin.ts';
import { doctor } from './doctor.ts';

/** Registers `doctor`; its exit code is 0 only if a nightly run would work. */
export function addDoctor(command: Command): void {
  command
    .option('--configuration <file>', 'default: config/NAME.json', pathArgument)
    .option('--refresh', 'also refresh the grant once, for real: spends one generation of it')
    .option('--all', 'also print the checks that passed')
    .option('--json', 'one JSON document')
    .action(async (options: DoctorOptions) => {
      const checks = await doctor(options);
      process.exitCode = exitCodeOf(checks);
      if (options.json) printJson(documentOf(checks, process.exitCode === 0));
      else printOut(linesOf(checks, process.stdout, options.all).join('\n'));
    });
  withExamples(command, {
    'doctor --deployment prod': 'after authorize, and when a night has failed',
    'doctor --deployment prod --refresh': 'also try the refresh token, which spends one generation of it',
  });
}

/** Checks are ordered by cause, so the first by which a night fails gives the class. */
export function exitCodeOf(checks: Checked[]): number {
  return checks.find(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0;
}

/** What does not hold first, and the conclusion last. @param all prints every check that holds, not their number */
export function linesOf(checks: Checked[], stream: { isTTY?: boolean } = {}, all = false): string[] {
  const having = (wanted: Verdict) => checks.filter(({ verdict }) => verdict === wanted);
  const worst = [...having('broken'), ...having('unknown'), ...having('warning')];
  const held = having('holds');
  const passed = all || held.length === 0 ? held.map((check) => textOf(check, stream)) : [foldedText(held, stream)];
  return [...worst.map((check) => textOf(check, stream)), ...passed, conclusionOf(checks)];
}

function foldedText(held: Checked[], stream: { isTTY?: boolean }): string {
  return colorsFor(stream).green(`✓ ${manyText(held.length, 'check')} passed; to see them, add --all.`);
}

function conclusionOf(checks: Checked[]): string {
  const count = countOf(checks, 'broken');
  if (count > 0) return `A nightly run would ${troubleOf(checks)}: see ✗ (${count}).`;
  return exitCodeOf(checks) === 0 ? good(checks) : 'Whether a nightly run would work cannot be told: see ?.';
}

/** What would become of a nightly run, where something is broken: if only rules are, it would succeed, if it came. */
function troubleOf(checks: Checked[]): string {
  const isRules = checks.every(({ id, verdict }) => verdict !== 'broken' || id === 'rules');
  return isRules ? 'not come as it was deployed' : 'fail';
}

/** Whether the rules were not seen, or start no night, or not each that the configuration wants. */
function mayNotCome(checks: Checked[]): boolean {
  return checks.some(({ id, verdict }) => id === 'rules' && verdict !== 'holds');
}

/** Only a call to the CRM with the grant proves that the grant works. */
function good(checks: Checked[]): string {
  if (mayNotCome(checks)) return 'Nothing was found that stops a nightly run, but not every night may come: see rules.';
  if (checks.some(({ id, verdict }) => id === 'grant-stored' && verdict === 'warning')) {
    return 'Nothing was found that stops a nightly run, but no function has refreshed the grant yet: see grant-stored.';
  }
  const isTried = checks.some(({ id, verdict }) => id === 'service' && verdict === 'holds');
  const unknownColumns = checks.some(({ id }) => id === 'columns');
  if (isTried && !unknownColumns) return 'A nightly run would work.';
  if (isTried) return 'Nothing was found that stops a nightly run, but not all of the deployed columns were looked at.';
  const isRefreshed = checks.some(({ id }) => id === 'refresh');
  const what = 'Nothing was found that stops a nightly run, but the grant was not tried';
  return isRefreshed ? `${what} at the CRM.` : `${what}: add --refresh.`;
}
