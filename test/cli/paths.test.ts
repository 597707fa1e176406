import { execFile, spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { describeError } from '../../cli/support/aws-error.ts';
import { PROJECT, tempDir } from '../support/project.ts';
import { aws } from './support/cloud/cloud.ts';
import { runCli, runCliWith } from './support/run-cli.ts';

/** npm runs the command in the package's folder, whatever the person's folder is. */
async function personAt(): Promise<string> {
  const here = await tempDir();
  vi.stubEnv('INIT_CWD', here);
  return here;
}

const args = async () => {
  const cloud = await aws();
  cloud.publish();
  return cloud.place;
};

test('download writes into the current directory of the person, and prints the whole path', async () => {
  const here = await personAt();
  const file = join(here, 'leads-2026-11-20.csv');
  expect((await runCli('download', 'leads', ...(await args()))).stdout).toMatch(`${file}: leads of 2026-11-20, `);
  expect(await readFile(file, 'utf8')).toBe('id,name\n1,a\n');
  const named = await runCli('download', 'leads', '-o', 'other.csv', '--json', ...(await args()));
  expect(JSON.parse(named.stdout).file).toBe(join(here, 'other.csv'));
  expect(await readdir(here)).toEqual(['leads-2026-11-20.csv', 'other.csv']);
});

test('report writes into the current directory of the person, and prints the whole path', async () => {
  const here = await personAt();
  const { stdout } = await runCli('report', ...(await args()));
  expect(stdout).toContain(`(test). The report: ${join(here, 'report.html')}\n`);
  expect(await readdir(here)).toEqual(['report.html']);
});

test('plan reads --configuration from the current directory of the person', async () => {
  const here = await personAt();
  const plan = () => runCli('plan', '--configuration', 'plan.json', '--deployment', 'test');
  expect(await plan()).toMatchObject({ code: 2, stdout: '' });
  await writeFile(join(here, 'plan.json'), await readFile(join(PROJECT, 'config/example.json')));
  expect((await plan()).stdout).toContain('Asia/Jerusalem');
});

test('update reads its file from the current directory of the person', async () => {
  const here = await personAt();
  await writeFile(join(here, 'changes.csv'), 'id,name\n');
  const { stdout, stderr } = await runCli('update', 'changes.csv', '--dry-run', '--deployment', 'test');
  expect(`${stdout}${stderr}`).toContain(join(here, 'changes.csv'));
  expect((await runCli('update', 'none.csv', '--deployment', 'test')).stderr).toContain(
    `${join(here, 'none.csv')} does not exist.`,
  );
});

test('outside the package, the directory of the process is used instead of INIT_CWD', async () => {
  const here = await tempDir();
  const before = await tempDir();
  const program = join(PROJECT, 'cli/main.js');
  const place = { cwd: here, env: { ...process.env, INIT_CWD: before } };
  await promisify(execFile)(process.execPath, [program, 'download', 'leads', ...(await args())], place);
  expect(await readdir(here)).toEqual(['leads-2026-11-20.csv']);
});

test('a temporary folder that cannot be written is named, with the variable for another', async () => {
  const cloud = await aws();
  for (const date of ['2026-11-19', '2026-11-20']) cloud.publish({ date, execution: `leads-${date}` });

  const { code, stderr } = await runCliWith({ TMPDIR: '/dev/null' }, 'diff', 'leads', ...cloud.place);

  expect(code).toBe(3);
  expect(stderr).toMatch(/^\/dev\/null\S+ cannot be read or written \(ENOTDIR\): name another .* in TMPDIR\.$/m);
});

test('a file that is in the temporary folder by chance does not have the advice to name another folder', async () => {
  const file = join(await tempDir(), 'none', 'a.csv');
  const error = await readFile(file).catch((thrown: unknown) => thrown);

  expect(describeError(error).sentence).toBe(`${file} cannot be read or written (ENOENT).`);
});

test('the commands work without a home that they can read or write', async () => {
  const cloud = await aws();
  for (const date of ['2026-11-19', '2026-11-20']) cloud.publish({ date, execution: `leads-${date}` });
  const program = join(PROJECT, 'cli/main.js');
  const place = { cwd: await tempDir(), env: { ...process.env, HOME: '/dev/null' } };

  // These load the SDK and DuckDB, which look for files in the home.
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'diff', 'leads', ...cloud.place], place);

  expect(stdout).toMatch(/^leads: 2026-11-19 .*keys by id: 0 added/s);
});

test('git ignores the files that the command writes', () => {
  const names = ['csv', 'csv.gz', 'xlsx', 'xls', 'zip', 'json', 'json.gz', 'jsonl', 'tsv', 'txt', 'bin'].flatMap(
    (kind) => [`leads-2026-11-20.${kind}`, `leads-2026-11-20.${kind}.part`, `docs/leads-2026-11-20.${kind}.part.lock`],
  );
  const all = [...names, 'report.html', 'docs/report-prod.html', 'customers.csv', 'leads.csv.part', 'failed.jsonl'];
  const { stdout } = spawnSync('git', ['check-ignore', '--no-index', '--', ...all], { cwd: PROJECT, encoding: 'utf8' });
  expect(stdout.trimEnd().split('\n')).toEqual(all);
});
