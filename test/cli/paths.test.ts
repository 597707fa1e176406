import { execFile, spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { PROJECT, tempDir } from '../support/project.ts';
import { expectResults } from '../support/screen.ts';
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
  expect((await runCli('download', 'leads', ...(await args()))).stdout).toContain(file);
  expect(await readFile(file, 'utf8')).toBe('id,name\n1,a\n');
  const named = await runCli('download', 'leads', '-o', 'other.csv', '--json', ...(await args()));
  expect(JSON.parse(named.stdout).file).toBe(join(here, 'other.csv'));
  expect(await readdir(here)).toEqual(['leads-2026-11-20.csv', 'other.csv']);
});

test('report writes into the current directory of the person', async () => {
  const here = await personAt();
  const { stdout } = await runCli('report', ...(await args()));
  expect(stdout).toContain(join(here, 'report.html'));
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
  expect((await runCli('update', 'none.csv', '--deployment', 'test')).stderr).toContain(join(here, 'none.csv'));
});

test('outside the package, in a folder whose home is not usable, the directory of the process is used', async () => {
  const here = await tempDir();
  const before = await tempDir();
  const program = join(PROJECT, 'cli/main.js');
  const place = { cwd: here, env: { ...process.env, INIT_CWD: before, HOME: '/dev/null' } };
  await promisify(execFile)(process.execPath, [program, 'download', 'leads', ...(await args())], place);
  expect(await readdir(here)).toEqual(['leads-2026-11-20.csv']);
});

test('the message about a temporary folder that cannot be written names the folder and TMPDIR', async () => {
  const cloud = await aws();
  for (const date of ['2026-11-19', '2026-11-20']) cloud.publish({ date, execution: `leads-${date}` });

  const result = await runCliWith({ TMPDIR: '/dev/null' }, 'diff', 'leads', ...cloud.place);

  expect(result.code).toBe(3);
  await expectResults('temporary-folder', [['a temporary folder that is a file', result]]);
});

test('git ignores the files that the command writes', () => {
  const names = ['csv', 'csv.gz', 'xlsx', 'xls', 'zip', 'json', 'json.gz', 'jsonl', 'tsv', 'txt', 'bin'].flatMap(
    (kind) => [`leads-2026-11-20.${kind}`, `leads-2026-11-20.${kind}.part`, `docs/leads-2026-11-20.${kind}.part.lock`],
  );
  const all = [...names, 'report.html', 'docs/report-prod.html', 'customers.csv', 'leads.csv.part', 'failed.jsonl'];
  const { stdout } = spawnSync('git', ['check-ignore', '--no-index', '--', ...all], { cwd: PROJECT, encoding: 'utf8' });
  expect(stdout.trimEnd().split('\n')).toEqual(all);
});
