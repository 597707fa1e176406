import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { resumedName } from '../../../cli/updates/update-status.ts';
import { batchNameSchema } from '../../../core/batch/batch-results.ts';
import { clockAt } from '../../support/clock.ts';
import { tempDir } from '../../support/project.ts';
import { expectResults } from '../../support/screen.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import type { CliResult } from '../support/run-cli.ts';
import { atFirst, failedLine, fileOf, jsonl, lineOutcome, people, STOPPED, withBatch } from '../support/sent-batch.ts';

clockAt('2026-11-30T12:00:00.000Z');
beforeEach(() => shortWaits());

const failedFile = async (name = 'failed.jsonl') => join(await tempDir(), name);

test('update-status shows the last batches, or the batch of a name', async () => {
  const { cli, batches, objects } = await updatingCloud({ lineOutcome: atFirst });
  const results: [string, CliResult][] = [['no batch', await cli('update-status')]];
  for (const hour of [13, 14]) {
    vi.setSystemTime(`2026-11-30T${hour}:00:00Z`);
    await cli('update', fileOf(jsonl(people((hour - 12) * 10))), '--yes');
  }
  const [first = '', second = ''] = [...batches.keys()];
  results.push(['two batches', await cli('update-status')]);
  results.push(['one of them', await cli('update-status', first)]);
  results.push(['a name that no batch has', await cli('update-status', 'nope')]);
  const { batches: listed } = JSON.parse((await cli('update-status', '--json')).stdout);
  await cli('update', '--resume', second, '--yes');
  results.push(['a batch that was resumed', await cli('update-status', second)]);
  const running = batches.get(first);
  if (running) running.looks = 1000;
  for (const name of ['result.jsonl', '_manifest.json']) objects.delete(`updates/${first}/${name}`);
  results.push(['a batch under way', await cli('update-status', first)]);
  batches.clear();
  results.push(['a batch that Step Functions has forgotten', await cli('update-status', second)]);

  expect(listed.map(({ batch }: { batch: string }) => batch)).toEqual([second, first]);
  expect(results.map(([, { code }]) => code)).toEqual([0, 0, 0, 2, 0, 0, 0]);
  await expectResults('update-status', results);
});

test('--json names the batch that resumes another, and shows one without its execution from its manifest', async () => {
  const { cli, batches, first } = await withBatch({ lineOutcome: atFirst });
  const documentOf = async (batch: string) => JSON.parse((await cli('update-status', batch, '--json')).stdout);
  expect(await documentOf(first)).toMatchObject({ resumedAs: null });
  await cli('update', '--resume', first, '--yes');
  batches.clear();

  const known = { status: null, executionArn: null, what: 'update', of: first };
  const failed = { ...known, resumedAs: `${first}-r2`, outcome: 'failed', needsPerson: true, records: 10 };
  expect(await documentOf(first)).toMatchObject(failed);
  const applied = { resumedAs: null, outcome: 'applied', needsPerson: false, records: 1 };
  expect(await documentOf(`${first}-r2`)).toMatchObject(applied);
});

test('--failed-to says what it wrote, and why it writes no file', async () => {
  const results: [string, CliResult][] = [];
  const writing = async (what: string, batch: Awaited<ReturnType<typeof withBatch>>, file?: string) => {
    const path = file ?? (await failedFile());
    const result = await batch.cli('update-status', batch.first, '--failed-to', path);
    results.push([what, { ...result, shown: result.stderr }]);
    return path;
  };
  const batch = await withBatch({ lineOutcome });
  await writing('a file that exists', batch, await writing('a file', batch));
  const left = await failedFile();
  await writeFile(`${left}.part`, '');
  await writing('a part of a command that was killed', batch, left);
  await writing('a folder that is a file', batch, join(`${left}.part`, 'failed.jsonl'));
  const others = [
    left,
    await writing('CSV', batch, await failedFile('failed.csv')),
    await writing('a text', batch, await failedFile('failed.txt')),
  ];
  const onceFailed = (line: number, name: string) => (line === 2 && !name.endsWith('-r2') ? failedLine : {});
  const resumed = await withBatch({ lineOutcome: onceFailed });
  await resumed.cli('update', '--resume', resumed.first, '--yes');
  others.push(await writing('a batch whose lines were all applied since', resumed));
  const running = resumed.batches.get(`${resumed.first}-r2`);
  if (running) running.looks = 1000;
  others.push(await writing('a batch that is being resumed', resumed));
  const justStopped = await withBatch({ crash: STOPPED, endedAt: Date.now() / 1000 });
  others.push(await writing('a batch whose functions may still be sending', justStopped));
  vi.setSystemTime('2026-11-30T12:21:00Z');
  await writing('a batch that was stopped 21 minutes ago', justStopped);

  expect(results.map(([, { code }]) => code)).toEqual([0, 2, 2, 2, 2, 2, 2, 2, 2, 0]);
  for (const file of others) await expect(stat(file)).rejects.toThrow('ENOENT');
  expect(justStopped.asked.filter((line) => line.includes('stop.json'))).toEqual([]);
  await expectResults('update-failed-to', results);
});

test('--failed-to writes the lines not applied, for the owner only, as a file that update takes', async () => {
  const { cli, objects, first } = await withBatch({ lineOutcome });
  const file = await failedFile();
  // In the console, a person has started another batch of the same customers under the name of a resumed batch.
  objects.set(`updates/${first}-r2/_started.json`, Buffer.from(`{"execution":"${first}-r2-monday"}`));
  objects.set(`updates/${first}-r2/input.jsonl`, Buffer.from(jsonl(people(3))));
  const appliedLine = { ...failedLine, line: 3, id: people(3)[2]?.id, outcome: 'APPLIED', at: null };
  objects.set(`updates/${first}-r2/result.jsonl`, Buffer.from(jsonl([appliedLine])));
  await cli('update-status', first, '--failed-to', file);
  expect(await readFile(file, 'utf8')).toBe(jsonl([people(3)[2] ?? {}, people(7)[6] ?? {}]));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await cli('update', file, '--dry-run')).toMatchObject({ code: 0 });
});

test.each(['', 'again'])('--failed-to leaves out lines that a resumed batch applied: "%s"', async (name) => {
  const { cli, first, objects } = await withBatch({ lineOutcome: atFirst });
  await cli('update', '--resume', first, '--yes');
  const file = await failedFile();
  // In the console, a person has started the input of the resumed batch under another name.
  if (name) objects.set(`updates/${first}-r2/_started.json`, Buffer.from(JSON.stringify({ execution: name })));
  await cli('update-status', first, '--failed-to', file);

  expect(await readFile(file, 'utf8')).toBe(jsonl(people(3).slice(2)));
});

test.each([undefined, 'no record'])('a batch with the input %j has no resumed batch of another name', async (input) => {
  const { cli, first, objects } = await withBatch({ lineOutcome: atFirst });
  objects.set(`updates/${first}-r2/_started.json`, Buffer.from('{"execution":"again"}'));
  objects.set(`updates/${first}-r2/input.jsonl`, Buffer.from(jsonl(people(3))));
  if (input) objects.set(`updates/${first}/input.jsonl`, Buffer.from(input));
  else objects.delete(`updates/${first}/input.jsonl`);

  expect(JSON.parse((await cli('update-status', first, '--json')).stdout)).toMatchObject({ resumedAs: null });
});

test('a resumed batch gets the suffix -r2, and the next one -r3', () => {
  expect(resumedName('update-20261120T094133-9bef26')).toBe('update-20261120T094133-9bef26-r2');
  expect(resumedName('update-20261120T094133-9bef26-r2')).toBe('update-20261120T094133-9bef26-r3');
  expect(resumedName('a-r9')).toBe('a-r10');
});

test('resumed names of the longest batch names are distinct and valid', () => {
  const long = (end: string) => 'x'.repeat(59) + end;
  const names = [long('a'), long('b'), resumedName(long('a')), resumedName(resumedName(long('a')))].map(resumedName);

  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(batchNameSchema.safeParse(name).success, name).toBe(true);
});
