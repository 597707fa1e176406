import { eachDeployment, exitCodeOfAll } from '../support/all-deployments.ts';
import { ENVIRONMENT } from '../support/exit.ts';
import { colorsFor, manyText, plainLine } from '../support/text.ts';
import { type Check, documentOf, exitCodeOf, lineOf } from './check.ts';
import { type DoctorOptions, doctor } from './doctor.ts';

/** `doctor` of every deployment: a row for each, and what failed below it. Warnings are counted; `--json` has all. */
export async function doctorAll(options: DoctorOptions): Promise<void> {
  const looks = await eachDeployment(options, (place) => doctor({ ...options, ...place }));
  process.exitCode = exitCodeOfAll(looks.map(({ found }) => (found === null ? ENVIRONMENT : exitCodeOf(found))));
  if (options.json) {
    const deployments = looks.map(({ deployment, found, why }) => {
      return found === null ? { deployment, why, ok: null, checks: null } : { deployment, why, ...documentOf(found) };
    });
    return void process.stdout.write(`${JSON.stringify({ ok: process.exitCode === 0, deployments })}\n`);
  }
  const colors = colorsFor(process.stdout);
  const lines = looks.flatMap(({ deployment, found, why }) => {
    if (found === null) return [colors.yellow(`? ${deployment}: not known: ${plainLine(why)}`)];
    return exitCodeOf(found) === 0 ? [colors.green(rowOf(deployment, found))] : rowsOfFailed(deployment, found);
  });
  process.stdout.write(`${lines.join('\n')}\n`);
}

function rowsOfFailed(deployment: string, checks: Check[]): string[] {
  const { red } = colorsFor(process.stdout);
  const failed = checks.filter(({ status }) => status === 'failed');
  return [red(rowOf(deployment, checks)), ...failed.map((check) => `    ${plainLine(lineOf(check))}`)];
}

function rowOf(deployment: string, checks: Check[]): string {
  const count = (wanted: Check['status']) => checks.filter(({ status }) => status === wanted).length;
  const warnings = count('warning') > 0 ? `, ${manyText(count('warning'), 'warning')}` : '';
  if (count('failed') === 0) return `✓ ${deployment}: nothing was found that stops a nightly run${warnings}.`;
  return `✗ ${deployment}: a nightly run would fail${warnings}:`;
}
