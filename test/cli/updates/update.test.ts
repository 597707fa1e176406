import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { beforeEach, expect, test, vi } from 'vitest';
import { runSchema } from '../../../cli/runs/run.ts';
import { uploadInput } from '../../../cli/updates/update.ts';
import { checkUpdates, openUpdateFile } from '../../../cli/updates/update-source.ts';
import { configurationFile } from '../../../core/config/configuration.ts';
import { createUploadBucket } from '../../../core/storage/upload.ts';
import { tempDir } from '../../support/project.ts';
import { run } from '../../support/running.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { fault, lost } from '../support/cloud/answers.ts';
import { stack } from '../support/cloud/stack.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import { runCli, startCli } from '../support/run-cli.ts';
import {
  applied,
  atFirst,
  fileOf,
  idOf,
  jsonl,
  lineOutcome,
  people,
  refusedLine,
  withBatch,
} from '../support/sent-batch.ts';

const NOBODY = 'http://127.0.0.1:9';

/** The local configuration, changed to let null empty a field. */
async function nullsAllowed(): Promise<string> {
  const { $schema: _, ...local } = JSON.parse(await readFile(configurationFile('local'), 'utf8'));
  return fileOf(JSON.stringify({ ...local, updates: { allowNull: true } }), 'nulls.json');
}

beforeEach(() => shortWaits());

const bad: [what: string, name: string, content: string, sentence: RegExp][] = [
  ['an empty file', 'a.csv', '', /a\.csv is empty\./],
  ['a repeated column', 'a.csv', `id,city,city\n${idOf(1)},a,b\n`, /line 1, city: is the name of two columns\./],
  ['the same id twice', 'a.jsonl', jsonl([...people(2), ...people(1)]), /line 3, id: is the same as on line 1/],
  [
    'null',
    'a.jsonl',
    jsonl([{ id: idOf(1), city: null }]),
    /line 1, city: is null: leave the field out, or set updates\.allowNull/,
  ],
  ['a line that is too long', 'a.jsonl', `{"notes":"${'x'.repeat(2_000_000)}"}\n`, /line 1: is longer than/],
];

test.for(bad)('%s is refused with one sentence, and no update is sent', async ([, name, content, sentence]) => {
  const { cli, asked } = await updatingCloud();
  const { code, stderr } = await cli('update', await fileOf(content, name), '--yes');
  expect({ code, asked }).toEqual({ code: 2, asked: [] });
  const end = stderr.trimEnd().split('\n').at(-1);
  expect(end).toMatch(sentence);
  expect(end).toMatch(/ Nothing was sent\.$/);
});

test('of many problems, the first 20 and the counts by field, largest first, are shown without values', async () => {
  const gender = (n: number) => n < 29 && { gender: 9 };
  const wrong = Array.from({ length: 30 }, (_, n) => ({ id: idOf(n), ...gender(n), email: 5, city: 'Canary' }));
  const { cli } = await updatingCloud();
  const { code, stdout, stderr } = await cli('update', await fileOf(jsonl(wrong)));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^\S+customers\.jsonl, line 1, gender: must be one of the codes/);
  expect(stderr.match(/must be one of the codes|must be text/g)).toHaveLength(20);
  expect(stderr).toMatch(/… and 39 more problems\nProblems by field: email 30, gender 29\.\n/);
  expect(stderr).toMatch(/customers\.jsonl has 59 problems\. Nothing was sent\.\n$/);
  expect(stderr).not.toContain('Canary');
});

test('--dry-run shows the requests of three lines without values and ids, and does not call AWS', async () => {
  const file = await fileOf(
    `id,city,gender,notes\n${[1, 2, 3, 4].map((n) => `${idOf(n)},Haifa,2,\\N`).join('\n')}\n`,
    'a.csv',
  );
  const nulls = ['--configuration', await nullsAllowed()];
  const { code, stdout } = await runCli(
    'update',
    file,
    '--dry-run',
    '--deployment',
    'local',
    '--endpoint-url',
    NOBODY,
    ...nulls,
  );
  expect(code).toBe(0);
  expect(stdout).toContain('a.csv: 4 records on 5 lines, all valid. Nothing was sent.');
  expect(stdout.match(/PATCH/g)).toHaveLength(3);
  expect(stdout).toContain('line 2: PATCH /customers/3f2504e0…\n  {"city":"***","gender":"***","notes":null}\n');
  expect(stdout).not.toContain('Haifa');
});

test('without a terminal, updates of several customers need --yes', async () => {
  const { cli, asked } = await updatingCloud();
  const { code, stderr } = await cli('update', await fileOf(jsonl(people(2))));
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /changes 2 customers of local \(account 000000000000, us-east-1\)\. Send\? Standard input is not a terminal, .*: add --yes; nothing was sent\.\n$/,
  );
  expect(asked).toEqual([]);
});

test('one customer is updated without a question', async () => {
  const { cli, asked, batches } = await updatingCloud();
  expect(await cli('update', await fileOf(jsonl(people(1))))).toMatchObject({ code: 0 });
  const [batch] = batches.keys();
  expect(asked.slice(0, 2)).toEqual([`PutObject updates/${batch}/input.jsonl`, 'StartExecution']);
});

test('update and update-status say what to do if the deployment has no customer updates', async () => {
  const { cli, asked } = await updatingCloud({}, stack());
  for (const args of [['update', await fileOf(jsonl(people(2))), '--yes'], ['update-status']]) {
    const { code, stderr } = await cli(...args);
    expect(code).toBe(2);
    expect(stderr).toBe(
      'The deployment local cannot update customers: set "customerUpdates": true in its configuration, deploy it, then authorize again.\n',
    );
  }
  expect(asked).toEqual([]);
});

test('a CSV file is sent as JSON Lines with the same line numbers, and the result is reported', async () => {
  const { cli, objects, batches } = await updatingCloud({ allowNull: true });
  const csv = `id,city,notes\n${idOf(1)},Haifa,"two\nlines"\n${idOf(2)},,\\N\n`;
  const options = ['--max-rate', '5', '--stop-after-failures', '3'];
  const { code, stdout, stderr } = await cli('update', await fileOf(csv, 'a.csv'), '--yes', ...options);
  expect(code, stderr).toBe(0);
  const [[batch = '', { input }] = ['', { input: '' }]] = [...batches];
  expect(batch).toMatch(/^update-\d{8}T\d{6}Z-[0-9a-f]{6}$/);
  expect(JSON.parse(input)).toEqual({ file: `updates/${batch}/input.jsonl`, maxRate: 5, stopAfterFailures: 3 });
  expect(objects.get(`updates/${batch}/input.jsonl`)?.toString()).toBe(
    `\n${JSON.stringify({ id: idOf(1), city: 'Haifa', notes: 'two\nlines' })}\n\n${JSON.stringify({ id: idOf(2), notes: null })}\n`,
  );
  expect(stdout).toMatch(/2 APPLIED: the CRM confirmed/);
  expect(stderr).toMatch(new RegExp(`^Batch ${batch}: 2 records\\.\n(.* of 2 lines \\(.*\n)*2 of 2 lines \\(100 %\\)`));
});

const stopsIn = (asked: string[]) => asked.filter((line) => /^PutObject .*\/stop\.json$/.test(line));

test('lines that were not applied are reported without ids and values, and the exit code is 1', async () => {
  const { cli } = await updatingCloud({ lineOutcome });
  const { code, stdout, stderr } = await cli('update', await fileOf(jsonl(people(150))), '--yes');
  expect(code).toBe(1);
  expect(stdout).toMatch(/120 APPLIED: .*\n +15 REJECTED: .*\n +15 FAILED: .*\n\n/);
  expect(stdout).toMatch(/\n +line 3: REJECTED, CrmRejectedRequest, 422, 1 attempt, city\n +line 7: FAILED, /);
  expect(stdout).toMatch(/… and 10 more\n/);
  expect(stdout).toMatch(/update-status update-\S+ --failed-to FILE\.jsonl .*--deployment local\n/);
  expect(stdout).toMatch(/update --resume update-\S+ .*--deployment local\n/);
  expect(stdout + stderr).not.toMatch(/3f2504e0|Haifa/);
  expect(stderr).toMatch(/UpdatesIncomplete: Some lines were not applied\.\n$/);
});

test('a line answered with 404 is reported as "no such customer"', async () => {
  const gone = { ...refusedLine, status: 404, fields: [] };
  const { cli } = await updatingCloud({ lineOutcome: (line) => (line === 2 ? gone : {}) });
  const { stdout } = await cli('update', await fileOf(jsonl(people(3))), '--yes');
  expect(stdout).toMatch(/\n +line 2: REJECTED, CrmRejectedRequest, 404 \(no such customer\), 1 attempt\n/);
});

test('--json prints one document with the run, its batch and the counts of its lines', async () => {
  const { cli, batches } = await updatingCloud({ lineOutcome });
  const { code, stdout } = await cli('update', await fileOf(jsonl(people(10))), '--yes', '--json');
  const [batch] = [...batches.keys()];
  expect(code).toBe(1);
  const document = JSON.parse(stdout);
  expect(Object.keys(document)).toEqual(expect.arrayContaining(Object.keys(runSchema.shape)));
  expect(document).toMatchObject({
    ok: false,
    what: 'update',
    of: batch,
    outcome: 'failed',
    needsPerson: true,
    records: 10,
    batch,
    counts: { APPLIED: 8, REJECTED: 1, FAILED: 1, UNKNOWN: 0, NOT_SENT: 0 },
    resultKey: `updates/${batch}/result.jsonl`,
    manifestKey: `updates/${batch}/_manifest.json`,
  });
});

test('if a batch ends without a summary, its unreported lines are counted as UNKNOWN', async () => {
  const crash = { error: 'StepCrashed', cause: 'It died.' };
  const { cli } = await updatingCloud({ crash });
  const { code, stdout, stderr } = await cli('update', await fileOf(jsonl(people(10))), '--yes', '--json');
  expect(code).toBe(1);
  const counts = { APPLIED: 5, REJECTED: 0, FAILED: 0, UNKNOWN: 5, NOT_SENT: 0 };
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, counts, resultKey: null, manifestKey: null });
  expect(stderr).toMatch(/StepCrashed: It died\.\n$/);
});

test('a batch refused at its start counts all lines as NOT_SENT', async () => {
  const crash = { error: 'InvalidInput', cause: '"maxRate" must be at most 20.' };
  const { cli } = await updatingCloud({ crash, looks: 1 });
  const { stdout } = await cli('update', await fileOf(jsonl(people(2))), '--yes', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ counts: { APPLIED: 0, UNKNOWN: 0, NOT_SENT: 2 } });
});

test('Ctrl-C stops following but not the batch, and update-status shows it as under way', async () => {
  const { cli, place, asked, batches } = await updatingCloud({ looks: 1000 });
  const file = await fileOf(jsonl(people(10)));
  const running = run('cli/main.js', ['update', file, '--yes', ...place]);
  await running.says(/5 of 10 lines/);
  running.child.kill('SIGINT');
  expect(await running.ended, running.stderr()).toBe(130);
  const [batch = ''] = [...batches.keys()];
  expect(running.stderr()).toContain(
    `Stopped following. The batch ${batch} continues. To show it: npx --no -- crm-export update-status ${batch} --endpoint-url`,
  );
  expect(asked).not.toContain('StopExecution');
  const failed = join(await tempDir(), 'failed.jsonl');
  const shown = await cli('update-status', batch, '--failed-to', failed);
  expect(shown.stdout).toMatch(
    new RegExp(`^${batch}: under way, not summarized\nFrom \\S+ to now\\..* 5 APPLIED: `, 's'),
  );
  expect(shown).toMatchObject({ code: 2, stderr: `The batch ${batch} is still under way: wait for its end.\n` });
});

test('if StartExecution is never answered, the name of the batch is printed and update-status finds it', async () => {
  const { cli, batches } = await updatingCloud({}, fault('StartExecution', lost));
  const { code, stderr } = await cli('update', await fileOf(jsonl(people(10))), '--yes');
  expect(code).toBe(3);
  const [batch = ''] = [...batches.keys()];
  expect(stderr).toMatch(new RegExp(`^Batch ${batch}: 10 records\\.\n`));
  expect(await cli('update-status', batch)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(new RegExp(`^${batch}: `)),
  });
});

test.each<[how: string, change: (file: string) => Promise<void>]>([
  ['grows', (file) => appendFile(file, jsonl([{ id: idOf(99), city: 'Haifa' }]))],
  ['gets other lines of the same size', (file) => writeFile(file, jsonl(people(10)).replace('Haifa', 'Jaffa'))],
])('a file that %s between the check and the upload is not sent', async (_, change) => {
  const file = await fileOf(jsonl(people(10)));
  const { client, objects } = await updatingCloud();
  const source = await openUpdateFile(file);
  const checked = await checkUpdates(source);
  await change(file);
  await expect(uploadInput(createUploadBucket(client(S3Client), 'bucket'), 'b', checked)).rejects.toMatchObject({
    name: 'CommandError',
    exitCode: 2,
    message: `${file} changed while it was read: wait until it is complete. Nothing was sent.`,
  });
  expect(objects.size).toBe(0);
});

test('resume sends the lines that were neither applied nor rejected, with their line numbers', async () => {
  const { cli, batches, first, sent } = await withBatch({ lineOutcome: atFirst }, `\n${jsonl(people(25))}`);
  const { code, stderr, stdout } = await cli('update', '--resume', first, '--yes', '--json');
  expect(code, stderr).toBe(0);
  const second = [...batches.keys()][1] ?? '';
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, batch: second, counts: { APPLIED: 2 } });
  const lines = sent(second).split('\n');
  expect(lines.flatMap((line, index) => (line ? [[index + 1, JSON.parse(line).id]] : []))).toEqual([
    [7, idOf(5)],
    [17, idOf(15)],
  ]);
  const again = await cli('update', '--resume', second, '--yes');
  expect(again).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is nothing to resume. Nothing was sent.'),
  });
});

test('a batch that ended before it began is sent again as a file, and --resume refuses it', async () => {
  const crash = { error: 'UpdateFileInvalid', cause: 'It has one problem.' };
  const { cli, batches } = await updatingCloud({ crash, refuses: true });

  const { code, stdout } = await cli('update', await fileOf(jsonl(people(3))), '--yes');
  const [first = ''] = batches.keys();
  const again = await cli('update', '--resume', first, '--yes', '--over-newer');

  expect(code).toBe(1);
  expect(stdout).toMatch(/\nTo send lines again: .* update FILE .*--deployment local\n/);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('ended before it sent a line') });
  expect([...batches.keys()]).toEqual([first]);
});

test('a rate above the deployed one is refused before the file is uploaded', async () => {
  const { cli, batches, objects } = await updatingCloud();

  const { code, stderr } = await cli('update', await fileOf(jsonl(people(3))), '--yes', '--max-rate', '21');

  expect([code, stderr]).toEqual([
    2,
    '--max-rate is at most 20, the updates.maxRate of the deployment. Nothing was sent.\n',
  ]);
  expect([batches.size, objects.size]).toEqual([0, 0]);
});

test('resume of a batch without a summary uses its parts, and is refused while the batch is under way', async () => {
  const crash = { error: 'StepCrashed', cause: 'It died.' };
  const { cli, batches, first, idsSent } = await withBatch({ crash });
  const execution = batches.get(first);
  await cli('update', '--resume', first, '--yes');
  expect(idsSent(`${first}-r2`)).toEqual([5, 6, 7, 8, 9].map(idOf));
  if (execution) execution.looks = 1000;
  const early = await cli('update', '--resume', first, '--yes');
  expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining(`The batch ${first} is still under way`) });
});

test('resume of a batch without a summary sends lines in doubt again, and --failed-to lists them', async () => {
  const crash = { error: 'StoppedByOperator', cause: 'Stopped.' };
  const { cli, objects, first, sent } = await withBatch({ crash });
  const part = `updates/${first}/results/chunk-0001.000001.jsonl`;
  const doubt = '{"doubt":{"firstLine":6,"records":1,"tries":{"attempts":2,"lost":true,"status":null}}}\n';
  objects.set(part, Buffer.concat([objects.get(part) ?? Buffer.of(), Buffer.from(doubt)]));
  const file = join(await tempDir(), 'failed.jsonl');

  const listed = await cli('update-status', first, '--failed-to', file);
  await cli('update', '--resume', first, '--yes');

  expect(listed, listed.stderr).toMatchObject({ code: 0 });
  expect(await readFile(file, 'utf8')).toBe(jsonl(people(10).slice(5)));
  expect(sent(`${first}-r2`).trim()).toBe(jsonl(people(10).slice(5)).trim());
});

test('resume of a stopped batch waits for results of its functions, and does not send those lines again', async () => {
  const crash = { error: 'StoppedByOperator', cause: 'Stopped.' };
  const endedAt = Date.now() / 1000;
  const { place, objects, asked, first, idsSent } = await withBatch({ crash, endedAt });
  const folder = `updates/${first}/results`;
  objects.set(`${folder}/chunk-0001.000002.begun.json`, Buffer.from('{"doubt":{"firstLine":6,"records":100}}'));

  const { soFar, ended } = startCli('update', '--resume', first, '--yes', ...place);
  const waiting = /waiting for the results of one part, until \S+Z at most/;
  await vi.waitFor(() => expect(soFar.stderr).toMatch(waiting), { timeout: 10_000 });
  const result = { ...applied, line: 6, id: idOf(5) };
  objects.set(`${folder}/chunk-0001.000002.jsonl`, Buffer.from(`${JSON.stringify(result)}\n`));
  await ended;

  expect(stopsIn(asked)).toEqual([`PutObject updates/${first}/stop.json`]);
  expect(idsSent(`${first}-r2`)).toEqual([6, 7, 8, 9].map(idOf));
});

test('two simultaneous resumes of a batch start one batch, and a third names it', async () => {
  const { cli, asked, batches, first } = await withBatch({ lineOutcome: atFirst, looks: 4 }, jsonl(people(25)));

  const resume = ['update', '--resume', first, '--yes', '--json'];
  const both = await Promise.all([cli(...resume), cli(...resume)]);
  const third = await cli(...resume);

  expect([...batches.keys()]).toEqual([first, `${first}-r2`]);
  expect(both.map(({ stdout }) => stdout && JSON.parse(stdout).batch)).toContain(`${first}-r2`);
  const loser = /UpdateAlreadyStarted: |was already resumed/;
  expect(both.map(({ code, stderr }) => code === 0 || loser.test(stderr))).toEqual([true, true]);
  expect(asked).toContain(`PutObject updates/${first}-r2/input.jsonl`);
  const told = `The batch ${first} was already resumed as ${first}-r2. `;
  expect(third).toMatchObject({ code: 2, stderr: expect.stringContaining(told) });
});

test('resume starts a resumed batch that was uploaded but never started', async () => {
  const { cli, objects, batches, first } = await withBatch({ lineOutcome: atFirst });
  objects.set(`updates/${first}-r2/input.jsonl`, Buffer.from('\n'.repeat(6) + jsonl(people(7).slice(6))));

  const { code, stderr } = await cli('update', '--resume', first, '--yes');

  expect(code, stderr).toBe(0);
  expect([...batches.keys()]).toEqual([first, `${first}-r2`]);
});

test.each<[what: string, standing: string]>([
  ['of another size', jsonl(people(1))],
  ['of the same size', '\n'.repeat(6) + jsonl(people(7).slice(6)).replace('Haifa', 'Jaffa')],
])('resume fails if the file of the resumed batch exists with other lines %s', async (_, standing) => {
  const { cli, objects, batches, first } = await withBatch({ lineOutcome });
  objects.set(`updates/${first}-r2/input.jsonl`, Buffer.from(standing));

  const { code, stderr } = await cli('update', '--resume', first, '--yes');

  expect(code).toBe(1);
  expect(stderr).toContain(`The object updates/${first}-r2/input.jsonl has other lines`);
  expect([...batches.keys()]).toEqual([first]);
});

test('resume sends the remaining lines unchanged, if the configuration still allows them', async () => {
  const deployed = { allowNull: true };
  const { cli, batches, objects } = await updatingCloud(Object.assign(deployed, { lineOutcome: atFirst }));
  const records = people(10).map((person) => ({ ...person, notes: null }));
  await cli('update', await fileOf(jsonl(records)), '--yes');
  const [first = ''] = batches.keys();
  const resume = () => cli('update', '--resume', first, '--yes');

  deployed.allowNull = false;
  expect(await resume()).toMatchObject({ code: 2, stderr: expect.stringContaining(', line 7, notes: is null') });
  deployed.allowNull = true;
  expect((await resume()).code).toBe(0);

  expect(objects.get(`updates/${first}-r2/input.jsonl`)?.toString()).toBe('\n'.repeat(6) + jsonl(records.slice(6, 7)));
});

test('resume sets the stop flag of a stopped batch before it uploads the next one', async () => {
  const crash = { error: 'StoppedByOperator', cause: 'Stopped.' };
  const { cli, asked, first } = await withBatch({ crash });

  await cli('update', '--resume', first, '--yes');

  const raised = asked.indexOf(`PutObject updates/${first}/stop.json`);
  const sent = asked.indexOf(`PutObject updates/${first}-r2/input.jsonl`);
  expect(raised).toBeGreaterThan(0);
  expect(sent).toBeGreaterThan(raised);
});
