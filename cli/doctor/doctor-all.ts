import type { Checked } from '../checks/check.ts';
import { countOf, documentOf, textOf } from '../checks/print.ts';
import { eachDeployment, exitCodeOfAll } from '../support/all-deployments.ts';
import { ENVIRONMENT } from '../support/exit.ts';
import { colorsFor, manyText, plainLine } from '../support/text.ts';
import type { DoctorOptions } from './begin.ts';
import { exitCodeOf, mayNotCome, troubleOf } from './conclusion.ts';
import { doctor } from './doctor.ts';

/** `doctor` of every deployment: a row for each, and what fails a night below it. Warnings are counted; `--json` has all. */
export async function doctorAll(options: DoctorOptions): Promise<void> {
  const looks = await eachDeployment(options, (place) => doctor({ ...options, ...place }));
  process.exitCode = exitCodeOfAll(looks.map(({ found }) => (found === null ? ENVIRONMENT : exitCodeOf(found))));
  if (options.json) {
    const deployments = looks.map(({ deployment, found, why }) => {
      const document = found ? documentOf(found, exitCodeOf(found) === 0) : { ok: null, checks: null };
      return { deployment, why, ...document };
    });
    return void process.stdout.write(`${JSON.stringify({ ok: process.exitCode === 0, deployments })}\n`);
  }
  const { yellow } = colorsFor(process.stdout);
  const lines = looks.flatMap(({ deployment, found, why }) => {
    return found ? rowsOf(deployment, found) : [yellow(`? ${deployment}: not known: ${plainLine(why)}`)];
  });
  process.stdout.write(`${lines.join('\n')}\n`);
}

function rowsOf(deployment: string, checks: Checked[]): string[] {
  const { green, red, yellow } = colorsFor(process.stdout);
  const count = countOf(checks, 'warning');
  const warnings = count > 0 ? `, ${manyText(count, 'warning')}` : '';
  const bad = checks.filter(({ exitCode }) => exitCode !== 0);
  if (bad.length === 0) {
    const but = mayNotCome(checks) ? ', but not every night may come' : '';
    return [green(`✓ ${deployment}: nothing was found that stops a nightly run${but}${warnings}.`)];
  }
  const row =
    countOf(checks, 'broken') > 0
      ? red(`✗ ${deployment}: a nightly run would ${troubleOf(checks)}${warnings}:`)
      : yellow(`? ${deployment}: whether a nightly run would work cannot be told${warnings}:`);
  return [row, ...bad.map((check) => textOf(check, process.stdout).replace(/^/gm, '    '))];
}
