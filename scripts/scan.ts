import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureEnvironment } from '../local/ministack/python.ts';
import { openRunRecord } from '../local/processes/run-record.ts';
import { NETWORK, updatingDeployment } from './deployments.ts';
import { findPackageProblems, readLockfile, readManifest } from './packages.ts';
import { synthesise } from './synthesise.ts';

/**
 * `npm run scan`: checks the supply chain, the workflows, and the templates of the example deployment with and without
 * customer updates and a network. Each tool prints its findings. Exit code 1: a tool found something or could not run.
 */

/** Built from the Go module proxy. */
const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';

function report(what: string, isGood: boolean): void {
  process.stdout.write(`${isGood ? 'ok  ' : 'FAIL'} ${what}\n`);
  if (!isGood) process.exitCode = 1;
}

function run(what: string, command: string, ...args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  report(error ? `${what} (${error.message})` : what, status === 0);
}

process.chdir(join(import.meta.dirname, '..'));
const problems = findPackageProblems(readLockfile(), readManifest());
report(
  ['Sources, pins, install scripts and licences of packages', ...problems].join('\n       '),
  problems.length === 0,
);
run('npm audit', 'npm', 'audit', '--package-lock-only', '--audit-level', 'high');
run('actionlint', 'go', 'run', ACTIONLINT, '-no-color', '-oneline');

const record = await openRunRecord(join(process.cwd(), '.cache'));
try {
  const templates = Object.entries({
    plain: synthesise(),
    updates: synthesise(updatingDeployment({ network: NETWORK })),
  }).map(([name, template]) => {
    const file = join(record.workDir, `${name}.template.json`);
    writeFileSync(file, JSON.stringify(template, undefined, 1));
    return file;
  });
  const scanners = { name: 'scan', requirements: 'scan/requirements.txt', what: 'the scanners of the templates' };
  const bin = join(await ensureEnvironment(scanners, { record }), 'bin');
  const python = (what: string, ...args: string[]) => run(what, join(bin, 'python'), '-I', ...args);
  const checkov = ['-m', 'checkov.main', '--config-file', 'scan/checkov.yaml'];
  run('zizmor', join(bin, 'zizmor'), '--offline', '.github/workflows');
  python(
    'cfn-lint',
    '-c',
    'from cfnlint.runner.cli import main; main()',
    '--config-file',
    'scan/cfn-lint.yaml',
    ...templates,
  );
  python('checkov of templates', ...checkov, '--framework', 'cloudformation', '--file', ...templates);
  python('checkov of workflows', ...checkov, '--framework', 'github_actions', '--directory', '.github');
} finally {
  await record.close();
}
