import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { ensureEnvironment } from '../../local/ministack/python.ts';
import { EnvironmentError } from '../../local/processes/environment-error.ts';
import { openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { NETWORK, updatingDeployment } from '../deployments.ts';
import { synthesise } from '../synthesise.ts';
import type { Template } from '../template.ts';
import { ACCEPTED, compare, type Finding } from './accepted.ts';
import { auditPackages } from './audit.ts';
import { findPackageProblems, readLockfile, readManifest } from './packages.ts';

/**
 * Checks the supply chain and everything that goes to AWS, a line each: `npm run scan`. Exit code 1: a check failed; 3:
 * the scanners cannot be installed. With `--require-audit`, a registry without advisories is a failure, too.
 */

const ROOT = join(import.meta.dirname, '..', '..');

/** The result of a check: problems, a line each; a note for the reader; whether the check could not run. */
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
    const note = `checkov ${passed} passed; ${ACCEPTED.length} reasons for findings that stay`;
    return { problems: [...compare(findings, ACCEPTED), ...(passed === 0 ? ['checkov checked nothing'] : [])], note };
  } finally {
    await record.close();
  }
}

async function report(name: string, check: () => Result | Promise<Result>): Promise<void> {
  const { problems, note, unchecked } = await check();
  const result = problems.length > 0 ? 'FAIL' : unchecked ? '?   ' : 'ok  ';
  process.stdout.write(`${result} ${name} (${note})\n`);
  // The templates have most resources in common.
  for (const problem of new Set(problems)) process.stdout.write(`       ${problem}\n`);
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

/** Runs cfn-lint, checkov and zizmor, as pinned in scan/requirements.txt, on the templates and the CI workflows. */

const ENVIRONMENT = {
  name: 'scan',
  requirements: join(import.meta.dirname, '..', '..', 'scan', 'requirements.txt'),
  what: 'what scans the templates',
};
const WITHIN_MS = 300_000;
const LARGEST_BYTES = 256 * 1024 * 1024;
const run = promisify(execFile);

const lintSchema = z.array(
  z.object({
    Level: z.string(),
    Message: z.string(),
    Rule: z.object({ Id: z.string() }),
    Location: z.object({ Path: z.array(z.union([z.string(), z.number()])).nullish() }),
  }),
);
const failedSchema = z.object({ check_id: z.string(), check_name: z.string(), resource: z.string() });
const checkovSchema = z.object({
  results: z.object({ failed_checks: z.array(failedSchema) }),
  summary: z.object({ passed: z.int(), parsing_errors: z.int() }),
});
const zizmorSchema = z.array(z.object({ ident: z.string(), desc: z.string(), url: z.string() }));

/** Findings, and the number of passed checks of checkov: a scan of an empty folder has no findings either. */
type Scanned = { findings: Finding[]; passed: number };

/**
 * Scans the example deployment, with and without customer updates and a network, and the workflows.
 * @throws EnvironmentError when the scanners cannot be installed
 */
async function scanTemplates(record: RunRecord): Promise<Scanned> {
  const home = await ensureEnvironment(ENVIRONMENT, { record });
  const templates = { plain: synthesise(), updates: synthesise(updatingDeployment({ network: NETWORK })) };
  const scans = Object.entries(templates).map(async ([name, template]) => {
    const file = join(record.workDir, `${name}.template.json`);
    writeFileSync(file, JSON.stringify(template, undefined, 1));
    const linted = await lint(home, file, template);
    const checked = await checkov(home, ['--file', file, '--framework', 'cloudformation']);
    return { findings: [...linted, ...checked.findings], passed: checked.passed };
  });
  const workflows = checkov(home, ['--directory', '.github', '--framework', 'github_actions']);
  const results = await Promise.all([...scans, workflows]);
  return {
    findings: [...results.flatMap(({ findings }) => findings), ...(await zizmor(home))],
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
  };
}

async function lint(home: string, file: string, template: Template): Promise<Finding[]> {
  const main = 'from cfnlint.runner.cli import main; main()';
  const output = await outputOf(join(home, 'bin', 'python'), ['-I', '-c', main, '--format', 'json', file]);
  return lintSchema.parse(JSON.parse(output || '[]')).map(({ Level, Message, Rule, Location }) => {
    const id = String(Location.Path?.[0] === 'Resources' ? Location.Path[1] : (Location.Path?.join('/') ?? ''));
    const resource = `${template.Resources[id]?.Type ?? 'Template'}.${id}`;
    return { check: Rule.Id, resource, text: `${Level}: ${Message}` };
  });
}

async function checkov(home: string, args: string[]): Promise<Scanned> {
  const quiet = ['--output', 'json', '--compact', '--quiet', '--skip-download'];
  const output = await outputOf(join(home, 'bin', 'python'), ['-I', '-m', 'checkov.main', ...args, ...quiet]);
  const { results, summary } = checkovSchema.parse(JSON.parse(output));
  if (summary.parsing_errors > 0) throw new Error(`checkov could not read ${args[1]}`);
  const findings = results.failed_checks.map(({ check_id, check_name, resource }) => {
    return { check: check_id, resource, text: check_name };
  });
  return { findings, passed: summary.passed };
}

async function zizmor(home: string): Promise<Finding[]> {
  const output = await outputOf(join(home, 'bin', 'zizmor'), ['--offline', '--format', 'json', '.github/workflows']);
  return zizmorSchema
    .parse(JSON.parse(output))
    .map(({ ident, desc, url }) => ({ check: ident, resource: 'workflow', text: `${desc} (${url})` }));
}

/** Returns the output of a scanner. Its exit code also reports findings, so only missing output is a failure. */
async function outputOf(command: string, args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, LANG: 'C.UTF-8' };
  const options = { env, timeout: WITHIN_MS, maxBuffer: LARGEST_BYTES };
  const { stdout, stderr } = await run(command, args, options).catch((error: { stdout?: string; stderr?: string }) => {
    if (!error.stdout) throw error;
    return { stdout: error.stdout, stderr: error.stderr ?? '' };
  });
  if (/Traceback \(most recent call last\)/.test(stderr)) throw new Error(stderr.trim().split('\n').at(-1));
  return stdout;
}

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
/** The findings of actionlint in the workflows, a line each. Built from the Go module proxy; `undefined` without Go. */
async function lintWorkflows(): Promise<string[] | undefined> {
  try {
    await run('go', ['run', ACTIONLINT, '-no-color', '-oneline'], { timeout: WITHIN_MS });
    return [];
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: string | number; stdout?: string; stderr?: string };
    if (code === 'ENOENT') return undefined;
    return `${stdout}${stderr}`.trim().split('\n');
  }
}
