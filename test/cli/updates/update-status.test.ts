import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { tempDir } from '../../support/project.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import { atFirst, failedLine, fileOf, idOf, jsonl, lineOutcome, people, withBatch } from '../support/sent-batch.ts';

beforeEach(() => shortWaits());

const stopsIn = (asked: string[]) => asked.filter((line) => /^PutObject .*\/stop\.json$/.test(line));

test('--failed-to of a batch that was just stopped waits for functions that may still send', async () => {
  const crash = { error: 'StoppedByOperator', cause: 'Stopped.' };
  const stopped = async (secondsAgo: number) => {
    const { cli, asked, first } = await withBatch({ crash, endedAt: Date.now() / 1000 - secondsAgo });
    const { code, stderr } = await cli('update-status', first, '--failed-to', join(await tempDir(), 'a.jsonl'));
    expect(stopsIn(asked)).toEqual([]);
    return { code, stderr };
  };

  expect(await stopped(0)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/may still be sending until \S+Z/),
  });
  expect(await stopped(21 * 60)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Wrote /) });
});

test('update-status lists the last batches, and shows one by name', async () => {
  const { cli, batches } = await updatingCloud({ lineOutcome });
  const none = await cli('update-status');
  expect(none).toMatchObject({ code: 0, stdout: 'There is no batch yet.\n' });
  for (const count of [10, 20]) await cli('update', await fileOf(jsonl(people(count))), '--yes');
  const [first = '', second = ''] = [...batches.keys()];
  const list = await cli('update-status');
  const lines = ['16 APPLIED, 2 REJECTED, 2 FAILED', '8 APPLIED, 1 REJECTED, 1 FAILED'];
  expect(list.stdout.split('\n')).toEqual([
    `${second}: UpdatesIncomplete, ${lines[0]}`,
    `${first}: UpdatesIncomplete, ${lines[1]}`,
    '',
  ]);
  const document = JSON.parse((await cli('update-status', '--json')).stdout);
  expect(document.batches.map(({ batch }: { batch: string }) => batch)).toEqual([second, first]);
  const one = await cli('update-status', first);
  expect(one.stdout).toMatch(
    new RegExp(
      `^${first}: UpdatesIncomplete, 10 records\nFrom 2026-.*\nUpdatesIncomplete: .* 8 APPLIED: .*REJECTED, Crm`,
      's',
    ),
  );
  const unknown = await cli('update-status', 'nope');
  expect(unknown).toMatchObject({ code: 2, stderr: 'There is no batch nope in this deployment.\n' });
});

test('update-status of a resumed batch names the batch that continues it', async () => {
  const { cli, first } = await withBatch({ lineOutcome: atFirst });
  const before = await cli('update-status', first);
  await cli('update', '--resume', first, '--yes');
  const after = await cli('update-status', first);
  const document = JSON.parse((await cli('update-status', `${first}-r2`, '--json')).stdout);

  expect(before.stdout).not.toContain('Resumed');
  expect(after.stdout).toMatch(
    new RegExp(`\nResumed as ${first}-r2: .* update-status ${first}-r2 .*--deployment local`),
  );
  expect(JSON.parse((await cli('update-status', first, '--json')).stdout)).toMatchObject({ resumedAs: `${first}-r2` });
  expect(document).toMatchObject({ resumedAs: null });
});

test('update-status shows a batch from its manifest if Step Functions no longer has its execution', async () => {
  const { cli, batches } = await updatingCloud({ lineOutcome });
  for (const count of [2, 10]) await cli('update', await fileOf(jsonl(people(count))), '--yes');
  const [whole = '', part = ''] = [...batches.keys()];
  batches.clear();
  const documentOf = async (batch: string) => JSON.parse((await cli('update-status', batch, '--json')).stdout);

  const known = { status: null, executionArn: null, what: 'update', of: part };
  expect(await documentOf(part)).toMatchObject({ ...known, outcome: 'failed', needsPerson: true, records: 10 });
  expect(await documentOf(whole)).toMatchObject({ outcome: 'applied', needsPerson: false, records: 2 });
});

test('--failed-to writes the lines not applied, for the owner only, and overwrites no file', async () => {
  const { cli, first: batch } = await withBatch({ lineOutcome });
  const file = join(await tempDir(), 'failed.jsonl');
  const written = await cli('update-status', batch, '--failed-to', file);
  expect(written).toMatchObject({ code: 0, stderr: `Wrote ${file}, which holds customer data.\n` });
  expect(await readFile(file, 'utf8')).toBe(jsonl([people(3)[2] ?? {}, people(7)[6] ?? {}]));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const over = await cli('update-status', batch, '--failed-to', file);
  expect(over).toMatchObject({ code: 2, stderr: `${file} already exists and is not overwritten.\n` });
  expect(await cli('update', file, '--dry-run')).toMatchObject({ code: 0 });
});

test('--failed-to writes JSON Lines even if CSV was sent', async () => {
  const { cli, batches } = await updatingCloud({ lineOutcome });
  const rows = people(9).map(({ id, city }) => `${id},"${city}, ש"\n`);
  const sent = await cli('update', await fileOf(`id,city\n${rows.join('')}`, 'customers.csv'), '--yes');
  const [batch = ''] = batches.keys();
  const file = join(await tempDir(), 'failed.jsonl');
  const written = await cli('update-status', batch, '--failed-to', file);

  expect(sent.stdout).toMatch(/--failed-to FILE\.jsonl /);
  expect(written).toMatchObject({ code: 0, stderr: `Wrote ${file}, which holds customer data.\n` });
  const left = [1, 5].map((n) => ({ id: idOf(n), city: `Haifa ${n}, ש` }));
  expect(await readFile(file, 'utf8')).toBe(jsonl(left));
  expect(await cli('update', file, '--dry-run')).toMatchObject({ code: 0 });
});

test.each(['failed.csv', 'failed.txt'])('--failed-to refuses %s, because it writes JSON Lines', async (name) => {
  const { cli, first } = await withBatch({ lineOutcome });
  const file = join(await tempDir(), name);

  expect(await cli('update-status', first, '--failed-to', file)).toMatchObject({
    code: 2,
    stderr: `Failed lines are written as JSON Lines, so ${file} must end in .jsonl.\n`,
  });
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

test('--failed-to of a resumed batch leaves out lines applied since, and waits for the running batch', async () => {
  const cloud = await updatingCloud({ lineOutcome: atFirst });
  const file = async () => join(await tempDir(), 'failed.jsonl');
  await cloud.cli('update', await fileOf(jsonl(people(10))), '--yes');
  const [first = ''] = cloud.batches.keys();
  await cloud.cli('update', '--resume', first, '--yes');
  const rejected = await file();
  await cloud.cli('update-status', first, '--failed-to', rejected);
  expect(await readFile(rejected, 'utf8')).toBe(jsonl(people(3).slice(2)));

  const second = cloud.batches.get(`${first}-r2`);
  if (second) second.looks = 1000;
  const early = await cloud.cli('update-status', first, '--failed-to', await file());
  expect(early).toMatchObject({ code: 2, stderr: `The batch ${first}-r2 is still under way: wait for its end.\n` });
});

test('--failed-to writes no file if every line has been applied since', async () => {
  const onceFailed = (line: number, batch: string) => (line === 2 && !batch.endsWith('-r2') ? failedLine : {});
  const { cli, first } = await withBatch({ lineOutcome: onceFailed });
  await cli('update', '--resume', first, '--yes');
  const file = join(await tempDir(), 'failed.jsonl');

  const { code, stderr } = await cli('update-status', first, '--failed-to', file);

  expect([code, stderr]).toEqual([2, `Every line of ${first} was applied.\n`]);
  await expect(stat(file)).rejects.toThrow('ENOENT');
});
