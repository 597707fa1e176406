import { join } from 'node:path';
import { EnvironmentError } from '../../local/processes/environment-error.ts';
import { openRunRecord } from '../../local/processes/run-record.ts';
import { compare, readAnswers } from './answers.ts';
import { auditPackages } from './audit.ts';
import { findPackageProblems, readLockfile, readManifest } from './packages.ts';
import { scanTemplates } from './templates.ts';
import { lintWorkflows } from './workflows.ts';

/**
 * Every check of the supply chain and of what goes to AWS, a line each: `npm run scan`. Ends with code 1 when one fails, 3 when
 * the scanners cannot be had. With `--require-audit` a registry that gives no advisories is a failure too.
 */

const ROOT = join(import.meta.dirname, '..', '..');

/** What a check found wrong, a line each, a note for the reader, and whether the check could not be made. */
type Result = { problems: string[]; note: string; unchecked?: boolean };

function packages(): Result {
  const lockfile = readLockfile();
  const note = `${Object.keys(lockfile.packages).length - 1} packages`;
  return { problems: findPackageProblems(lockfile, readManifest()), note };
}

async function advisories(): Promise<Result> {
  const audit = await auditPackages();
  if ('problems' in audit) return { ...audit, note: 'npm audit: none of high severity' };
  const note = `NOT CHECKED: the registry gives no advisories (${audit.refused})`;
  return { problems: process.argv.includes('--require-audit') ? [note] : [], note, unchecked: true };
}

async function workflows(): Promise<Result> {
  const problems = await lintWorkflows();
  if (problems) return { problems, note: 'actionlint' };
  return { problems: [], note: 'NOT CHECKED by actionlint: there is no Go to build it', unchecked: true };
}

async function templates(): Promise<Result> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const { findings, passed } = await scanTemplates(record);
    const answers = readAnswers();
    const errors = findings.filter(({ check }) => check.startsWith('E')).length;
    const note = `cfn-lint ${errors} errors; checkov ${passed} passed; ${findings.length} findings, ${answers.length} answers`;
    return { problems: [...compare(findings, answers), ...(passed === 0 ? ['checkov checked nothing'] : [])], note };
  } finally {
    await record.close();
  }
}

async function report(name: string, check: () => Result | Promise<Result>): Promise<void> {
  const { problems, note, unchecked } = await check();
  const result = problems.length > 0 ? 'FAIL' : unchecked ? '?   ' : 'ok  ';
  process.stdout.write(`${result} ${name} (${note})\n`);
  for (const problem of problems) process.stdout.write(`       ${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}

process.chdir(ROOT);
try {
  await report('Lockfile, pins, install scripts, licences', packages);
  await report('Known vulnerabilities', advisories);
  await report('Workflows', workflows);
  await report('Templates and workflows', templates);
} catch (error) {
  if (!(error instanceof EnvironmentError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
