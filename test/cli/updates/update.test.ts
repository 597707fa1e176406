import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { beforeEach, expect, test, vi } from 'vitest';
import { runSchema } from '../../../cli/runs/run.ts';
import { uploadInput } from '../../../cli/updates/update.ts';
import { checkUpdates, openUpdateFile } from '../../../cli/updates/update-source.ts';
import { configurationFile } from '../../../core/config/configuration.ts';
import { createUploadBucket } from '../../../core/storage/upload.ts';
import { clockAt } from '../../support/clock.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { eventually, tempDir } from '../../support/project.ts';
import { run } from '../../support/running.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { fault, lost } from '../support/cloud/answers.ts';
import { stack } from '../support/cloud/stack.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import { type CliResult, runCli, startCli } from '../support/run-cli.ts';
import {
  applied,
  atFirst,
  DIED,
  fileOf,
  idOf,
  jsonl,
  lineOutcome,
  people,
  refusedLine,
  STOPPED,
  withBatch,
} from '../support/sent-batch.ts';

clockAt('2026-11-30T12:00:00.000Z');
beforeEach(() => shortWaits());

test('refuses what it cannot send, before anything is sent, and quotes no value', async () => {
  const wrong = Array.from({ length: 30 }, (_, n) => ({
    id: idOf(n),
    ...(n < 29 && { gender: 9 }),
    ...{ email: 5, city: 'Canary' },
  }));
  const files: [what: string, name: string, content: string, options?: string[]][] = [
    ['an empty file', 'a.csv', ''],
    ['a repeated column', 'a.csv', `id,city,city\n${idOf(1)},a,b\n`],
    ['the same id twice', 'a.jsonl', jsonl([...people(2), ...people(1)])],
    ['null', 'a.jsonl', jsonl([{ id: idOf(1), city: null }])],
    ['a line that is too long', 'a.jsonl', `{"notes":"${'x'.repeat(2_000_000)}"}\n`],
    ['59 problems', 'a.jsonl', jsonl(wrong)],
    ['a rate above the deployed one', 'a.jsonl', jsonl(people(3)), ['--max-rate', '21']],
  ];
  const { cli, asked, objects } = await updatingCloud();
  const results: [string, CliResult][] = [];
  for (const [what, name, content, options = []] of files)
    results.push([what, await cli('update', fileOf(content, name), '--yes', ...options)]);
  const file = fileOf(jsonl(people(2)));
  results.push(['no terminal to ask for a confirmation', await cli('update', file)]);
  const without = await updatingCloud({}, stack());
  for (const args of [['update', file, '--yes'], ['update-status']])
    results.push([`${args[0]}, without customer updates`, await without.cli(...args)]);

  expect(results.map(([, { code, stdout }]) => [code, stdout])).toEqual(results.map(() => [2, '']));
  expect([asked, objects.size, without.asked]).toEqual([[], 0, []]);
  expect(results.map(([, { stderr }]) => stderr).join()).not.toContain('Canary');
  await expectResults('update-refusals', results);
});

/** The local configuration, changed to let null empty a field. */
async function nullsAllowed(): Promise<string> {
  const { $schema: _, ...local } = JSON.parse(await readFile(configurationFile('local'), 'utf8'));
  return fileOf(JSON.stringify({ ...local, updates: { allowNull: true } }), 'nulls.json');
}

/** Sends a file in five seconds of the clock of these runs. */
async function sending(options: Parameters<typeof updatingCloud>[0], content: string, name = 'a.jsonl') {
  vi.setSystemTime(1_795_000_005_000);
  const { cli } = await updatingCloud(options);
  return cli('update', fileOf(content, name), '--yes');
}

test('shows requests, progress, the first lines that were not applied, and what to do; no id and no value', async () => {
  const rows = [1, 2, 3, 4].map((n) => `${idOf(n)},Haifa,2,\\N`).join('\n');
  const dryRun = ['--dry-run', '--deployment', 'local', '--endpoint-url', DEAD_ADDRESS];
  const file = fileOf(`id,city,gender,notes\n${rows}\n`, 'a.csv');
  const gone = { ...refusedLine, status: 404, fields: [] };
  const results: [string, CliResult][] = [
    ['a dry run', await runCli('update', file, ...dryRun, '--configuration', await nullsAllowed())],
    ['two customers', await sending({}, jsonl(people(2)))],
    ['a deprecated field', await sending({}, jsonl([{ id: idOf(1), customFields: {} }]))],
    ['lines that were not applied', await sending({ lineOutcome }, jsonl(people(150)))],
    ['a customer that does not exist', await sending({ lineOutcome: (n) => (n === 2 ? gone : {}) }, jsonl(people(3)))],
    ['a batch that ends without a summary', await sending({ crash: DIED }, jsonl(people(10)))],
  ];

  expect(results.map(([, { code }]) => code)).toEqual([0, 0, 0, 1, 1, 1]);
  expect(results.map(([, { shown }]) => shown).join()).not.toMatch(/3f2504e0-|Haifa/);
  await expectResults('update', results);
});

test('one customer is updated without a question', async () => {
  const { cli, asked, batches } = await updatingCloud();
  expect(await cli('update', fileOf(jsonl(people(1))))).toMatchObject({ code: 0 });
  const [batch] = batches.keys();
  expect(asked.slice(0, 2)).toEqual([`PutObject updates/${batch}/input.jsonl`, 'StartExecution']);
});

test('a CSV file is sent as JSON Lines with the same line numbers', async () => {
  const { cli, objects, batches } = await updatingCloud({ allowNull: true });
  const csv = `id,city,notes\n${idOf(1)},Haifa,"two\nlines"\n${idOf(2)},,\\N\n`;
  const options = ['--max-rate', '5', '--stop-after-failures', '3'];
  const { code, stderr } = await cli('update', fileOf(csv, 'a.csv'), '--yes', ...options);
  expect(code, stderr).toBe(0);
  const [[batch = '', { input }] = ['', { input: '' }]] = [...batches];
  expect(batch).toMatch(/^update-\d{8}T\d{6}Z-[0-9a-f]{6}$/);
  expect(JSON.parse(input)).toEqual({ file: `updates/${batch}/input.jsonl`, maxRate: 5, stopAfterFailures: 3 });
  expect(objects.get(`updates/${batch}/input.jsonl`)?.toString()).toBe(
    `\n${JSON.stringify({ id: idOf(1), city: 'Haifa', notes: 'two\nlines' })}\n\n${JSON.stringify({ id: idOf(2), notes: null })}\n`,
  );
});

test('--json prints one document with the run, its batch and the counts of its lines', async () => {
  const { cli, batches } = await updatingCloud({ lineOutcome });
  const { code, stdout } = await cli('update', fileOf(jsonl(people(10))), '--yes', '--json');
  const [batch] = [...batches.keys()];
  expect(code).toBe(1);
  const document = JSON.parse(stdout);
  expect(Object.keys(document)).toEqual(expect.arrayContaining(Object.keys(runSchema.shape)));
  expect(document).toMatchObject({
    ...{ ok: false, what: 'update', of: batch, outcome: 'failed', needsPerson: true, records: 10, batch },
    counts: { APPLIED: 8, REJECTED: 1, FAILED: 1, UNKNOWN: 0, NOT_SENT: 0 },
    resultKey: `updates/${batch}/result.jsonl`,
    manifestKey: `updates/${batch}/_manifest.json`,
  });
});

test.each([
  ['UNKNOWN, because functions may have sent them', { crash: DIED }, { APPLIED: 5, UNKNOWN: 5, NOT_SENT: 0 }],
  [
    'NOT_SENT if the batch is refused at its start',
    { crash: { error: 'InvalidInput', cause: '"maxRate" must be at most 20.' }, looks: 1 },
    { APPLIED: 0, UNKNOWN: 0, NOT_SENT: 10 },
  ],
])('lines without a result count as %s', async (_, options, counts) => {
  const { cli } = await updatingCloud(options);
  const { code, stdout } = await cli('update', fileOf(jsonl(people(10))), '--yes', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, counts, resultKey: null, manifestKey: null });
});

test('Ctrl-C stops following but not the batch, and says how to show it', async () => {
  const { place, asked, batches } = await updatingCloud({ looks: 1000 });
  const file = fileOf(jsonl(people(10)));
  const running = run('cli/main.js', ['update', file, '--yes', ...place]);
  await running.says(/5 of 10 lines/);
  expect(await running.interrupt(), running.stderr()).toBe(130);
  expect(asked).not.toContain('StopExecution');
  const [batch = ''] = batches.keys();
  const end = running.stderr().trimEnd().split('\n').at(-1)?.replaceAll(batch, 'BATCH') ?? '';
  await expectTexts('update-stopped-following', [['Ctrl-C after the start', end]]);
});

test('if StartExecution is never answered, the name of the batch is printed and update-status finds it', async () => {
  const { cli, batches } = await updatingCloud({}, fault('StartExecution', lost));
  const { code, stderr } = await cli('update', fileOf(jsonl(people(10))), '--yes');
  const [batch = ''] = [...batches.keys()];
  expect({ code, isNamed: stderr.includes(batch) }).toEqual({ code: 3, isNamed: true });
  expect(await cli('update-status', batch)).toMatchObject({ code: 0 });
});

test.each<[how: string, change: (file: string) => Promise<void>]>([
  ['grows', (file) => appendFile(file, jsonl([{ id: idOf(99), city: 'Haifa' }]))],
  ['gets other lines of the same size', (file) => writeFile(file, jsonl(people(10)).replace('Haifa', 'Jaffa'))],
])('a file that %s between the check and the upload is not sent', async (_, change) => {
  const file = fileOf(jsonl(people(10)));
  const { client, objects } = await updatingCloud();
  const source = await openUpdateFile(file);
  const checked = await checkUpdates(source);
  await change(file);
  const upload = uploadInput(createUploadBucket(client(S3Client), 'bucket'), 'b', checked);
  const error = await upload.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'CommandError', exitCode: 2 });
  await expectTexts('update-changed-file', [['between the check and the upload', (error as Error).message]]);
  expect(objects.size).toBe(0);
});

test('resume says what it does, and why it sends nothing', async () => {
  const batch = await withBatch({ lineOutcome: atFirst });
  const resume = ['update', '--resume', batch.first, '--yes'];
  const results: [string, CliResult][] = [['a batch with a failed line', await batch.cli(...resume)]];
  results.push(['a batch that was resumed', await batch.cli(...resume)]);
  results.push(['a batch that is complete', await batch.cli('update', '--resume', `${batch.first}-r2`, '--yes')]);
  const running = batch.batches.get(batch.first);
  if (running) running.looks = 1000;
  results.push(['a batch that is under way', await batch.cli(...resume)]);
  const refused = await withBatch({
    crash: { error: 'UpdateFileInvalid', cause: 'It has one problem.' },
    refuses: true,
  });
  results.push(['a batch that is refused at its start', refused.sending]);
  results.push([
    'the same batch, which has sent nothing',
    await refused.cli('update', '--resume', refused.first, '--yes', '--over-newer'),
  ]);

  expect(results.map(([, { code }]) => code)).toEqual([0, 2, 2, 2, 1, 2]);
  expect([batch.batches.size, refused.batches.size]).toEqual([2, 1]);
  await expectResults('update-resume', results);
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
});

test('resume of a batch without a summary sends its lines in doubt again, and --failed-to lists them', async () => {
  const { cli, objects, asked, first, sent, idsSent } = await withBatch({ crash: STOPPED });
  const part = `updates/${first}/results/chunk-0001.000001.jsonl`;
  const doubt = '{"doubt":{"firstLine":6,"records":1,"tries":{"attempts":2,"lost":true,"status":null}}}\n';
  objects.set(part, Buffer.concat([objects.get(part) ?? Buffer.of(), Buffer.from(doubt)]));
  const file = join(await tempDir(), 'failed.jsonl');

  const listed = await cli('update-status', first, '--failed-to', file);
  await cli('update', '--resume', first, '--yes');

  expect(listed, listed.stderr).toMatchObject({ code: 0 });
  expect(await readFile(file, 'utf8')).toBe(jsonl(people(10).slice(5)));
  expect(sent(`${first}-r2`).trim()).toBe(jsonl(people(10).slice(5)).trim());
  expect(idsSent(`${first}-r2`)).toEqual([5, 6, 7, 8, 9].map(idOf));
  // Even long after the end: a redrive of the batch would send again.
  expect(asked).toContain(`PutObject updates/${first}/stop.json`);
});

test('resume of a stopped batch waits for results of its functions, and does not send those lines again', async () => {
  // The command waits by the clock of AWS, which is that of the machine.
  vi.useRealTimers();
  const { place, objects, asked, first, idsSent } = await withBatch({ crash: STOPPED, endedAt: Date.now() / 1000 });
  const folder = `updates/${first}/results`;
  objects.set(`${folder}/chunk-0001.000002.begun.json`, Buffer.from('{"doubt":{"firstLine":6,"records":100}}'));

  const { soFar, ended } = startCli('update', '--resume', first, '--yes', ...place);
  const waiting = /until \d\S+Z/;
  await eventually(() => waiting.test(soFar.stderr));
  const result = { ...applied, line: 6, id: idOf(5) };
  objects.set(`${folder}/chunk-0001.000002.jsonl`, Buffer.from(`${JSON.stringify(result)}\n`));
  await ended;

  const raised = asked.indexOf(`PutObject updates/${first}/stop.json`);
  expect(raised).toBeGreaterThan(0);
  expect(asked.indexOf(`PutObject updates/${first}-r2/input.jsonl`)).toBeGreaterThan(raised);
  expect(asked.filter((line) => /^PutObject .*\/stop\.json$/.test(line))).toHaveLength(1);
  expect(idsSent(`${first}-r2`)).toEqual([6, 7, 8, 9].map(idOf));
  const waits = soFar.stderr.split('\n').filter((line) => waiting.test(line));
  const text = waits
    .join('\n')
    .replaceAll(first, 'BATCH')
    .replace(/\d{4}-\S+Z/, 'TIME');
  await expectTexts('update-waits', [['a function may still send one part', text]]);
});

test('resume is refused if another batch starts while its question waits', async () => {
  const UNKNOWN = { outcome: 'UNKNOWN', error: 'CrmUnavailable', status: null } as const;
  const { cli, first, batches, objects } = await withBatch({ lineOutcome: () => UNKNOWN });
  async function* yes() {
    const input = JSON.stringify({ file: 'updates/later/input.jsonl' });
    const startedAt = (batches.get(first)?.startedAt ?? 0) + 1;
    batches.set('later', { name: 'later', batch: 'later', input, looks: 1000, startedAt });
    objects.set('updates/later/_started.json', Buffer.from('{"execution":"later"}'));
    yield 'y\n';
  }
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Object.assign(Readable.from(yes()), { isTTY: true }) as never);

  const { code, stderr } = await cli('update', '--resume', first);

  expect({ code, stderr, batches: [...batches.keys()] }).toEqual({
    ...{ code: 2, stderr: expect.stringContaining('Send? [y/N]'), batches: [first, 'later'] },
  });
  expect(stderr).toContain(': later. ');
});

test('two simultaneous resumes of a batch start one batch', async () => {
  const { cli, batches, first } = await withBatch({ lineOutcome: atFirst, looks: 4 }, jsonl(people(25)));

  const resume = ['update', '--resume', first, '--yes', '--json'];
  const both = await Promise.all([cli(...resume), cli(...resume)]);

  expect([...batches.keys()]).toEqual([first, `${first}-r2`]);
  expect(both.map(({ stdout }) => stdout && JSON.parse(stdout).batch)).toContain(`${first}-r2`);
  // The other one finds the batch before it starts one (exit code 2), or at its start.
  const loses = ({ code, stderr }: CliResult) => code === 2 || stderr.includes('UpdateAlreadyStarted');
  expect(both.map((one) => one.code === 0 || loses(one))).toEqual([true, true]);
});

const LINE_7 = '\n'.repeat(6) + jsonl(people(7).slice(6));

test('resume starts a batch with the same lines that were uploaded and never started, and refuses others', async () => {
  const results: [string, CliResult][] = [];
  for (const [what, stored, ...ends] of [
    ['the same lines', LINE_7, 0, 2],
    ['lines of another size', jsonl(people(1)), 1, 1],
    ['other lines of the same size', LINE_7.replace('Haifa', 'Jaffa'), 1, 1],
  ] as const) {
    const { cli, objects, batches, first } = await withBatch({ lineOutcome: atFirst });
    objects.set(`updates/${first}-r2/input.jsonl`, Buffer.from(stored));

    const result = await cli('update', '--resume', first, '--yes');

    expect([what, result.code, batches.size], result.stderr).toEqual([what, ...ends]);
    results.push([what, result]);
  }
  await expectResults('update-uploaded', results.slice(1));
});

test('resume sends the remaining lines unchanged, if the configuration still allows them', async () => {
  const deployed = { allowNull: true };
  const records = people(10).map((person) => ({ ...person, notes: null }));
  const options = Object.assign(deployed, { lineOutcome: atFirst });
  const { cli, first, sent } = await withBatch(options, jsonl(records));
  const resume = () => cli('update', '--resume', first, '--yes');

  deployed.allowNull = false;
  expect(await resume()).toMatchObject({ code: 2, stdout: '' });
  deployed.allowNull = true;
  expect((await resume()).code).toBe(0);

  expect(sent(`${first}-r2`)).toBe('\n'.repeat(6) + jsonl(records.slice(6, 7)));
});
