import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { ResultLine } from '../../../core/batch/result-line.ts';
import { tempDir } from '../../local/support/support.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { type Answers, refused } from '../support/cloud/answers.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import { failedLine, fileOf, idOf, jsonl, people } from '../support/sent-batch.ts';

beforeEach(() => shortWaits());

const unanswered: Partial<ResultLine> = { outcome: 'UNKNOWN', error: 'CrmUnavailable', status: null, attempts: 3 };
const notSent: Partial<ResultLine> = {
  outcome: 'NOT_SENT',
  error: 'UpdateStopped',
  status: null,
  attempts: 0,
  at: null,
};

/**
 * A batch of four people of whom nobody knows whether they were changed, then another one of some of them, or of others.
 * @param later what became of the lines of the second
 */
async function unansweredThen(later: object[], outcomes: Partial<ResultLine>[] = [], ...faults: Answers[]) {
  const place = (batch: string) => [...cloud.batches.keys()].indexOf(batch);
  const lineOutcome = (line: number, batch: string) => [unanswered, outcomes[line - 1] ?? {}][place(batch)] ?? {};
  const cloud: Awaited<ReturnType<typeof updatingCloud>> = await updatingCloud({ lineOutcome }, ...faults);
  for (const records of [people(4), later]) await cloud.cli('update', await fileOf(jsonl(records)), '--yes');
  const [first = '', second = ''] = cloud.batches.keys();
  const sent = () => cloud.objects.get(`updates/${first}-r2/input.jsonl`)?.toString();
  const resume = (...args: string[]) => cloud.cli('update', '--resume', first, '--yes', ...args);
  return { ...cloud, first, second, sent, resume };
}

const someone = (n: number) => ({ id: idOf(n).toUpperCase(), city: 'Eilat' });

test('a resumed batch leaves out the lines whose customer a later batch has changed, and names them', async () => {
  const { resume, cli, first, second, sent } = await unansweredThen([someone(1), someone(3), someone(9)]);

  const { code, stderr } = await resume();

  expect(code, stderr).toBe(0);
  expect(sent()).toBe(`${jsonl(people(1))}\n${jsonl(people(3).slice(2))}`);
  expect(stderr).toContain('2 of 4 lines are left out: a later batch has changed their customers, or may have.');
  expect(stderr).toMatch(new RegExp(`line +later batch *\n +2 +${second} *\n +4 +${second} *\n`));
  expect(stderr).toMatch(new RegExp(`add --over-newer; .*update-status ${first} --failed-to FILE `));
  const file = join(await tempDir(), 'left.jsonl');
  await cli('update-status', first, '--failed-to', file);
  expect(await readFile(file, 'utf8')).toBe(jsonl([people(2)[1] ?? {}, people(4)[3] ?? {}]));
});

test('--over-newer sends them all the same', async () => {
  const { resume, sent } = await unansweredThen([someone(1)]);

  const { code, stderr } = await resume('--over-newer');

  expect(code, stderr).toBe(0);
  expect(sent()).toBe(jsonl(people(4)));
});

test('a later line changed a customer where it was applied, may have where nothing answered it, and not where it was refused or never sent', async () => {
  const outcomes = [{}, unanswered, failedLine, notSent];
  const { resume, sent } = await unansweredThen([0, 1, 2, 3].map(someone), outcomes);

  await resume();

  expect(sent()).toBe(`\n\n${jsonl(people(4).slice(2))}`);
});

test('of a later batch that is under way, lines without a result may have changed their customers', async () => {
  const { resume, batches, objects, second, sent } = await unansweredThen([someone(1), someone(2)], [failedLine]);
  const running = batches.get(second);
  if (running) running.looks = 1000;
  for (const key of ['result.jsonl', '_manifest.json', 'results/chunk-0001.000002.jsonl']) {
    objects.delete(`updates/${second}/${key}`);
  }

  await resume();

  expect(sent()).toBe(`${jsonl(people(2))}\n${jsonl(people(4).slice(3))}`);
});

test('a later batch that was refused before it began changed nobody', async () => {
  const { resume, batches, objects, second, sent } = await unansweredThen([someone(1)]);
  for (const key of objects.keys())
    if (key.startsWith(`updates/${second}/`) && !key.endsWith('input.jsonl')) objects.delete(key);
  expect(batches.has(second)).toBe(true);

  await resume();

  expect(sent()).toBe(jsonl(people(4)));
});

test('where later batches have changed all customers that are left, nothing is sent', async () => {
  const { resume, batches, first } = await unansweredThen(people(4));

  const { code, stderr } = await resume();

  expect(code).toBe(2);
  expect(stderr).toContain(`Nothing else is left of ${first}: add --over-newer to send these lines. Nothing was sent.`);
  expect(batches.size).toBe(2);
});

test('where the execution of the batch is forgotten, nothing tells what came later', async () => {
  const { resume, batches, first } = await unansweredThen([someone(1)]);
  batches.clear();

  const { code, stderr } = await resume();

  expect(code).toBe(2);
  expect(stderr).toContain(`Step Functions has forgotten the execution of ${first}`);
});

test('where AWS lets nobody describe so many executions at once, it goes on slower, and asks for each that is over once', async () => {
  const asked: string[] = [];
  let left = Number.POSITIVE_INFINITY;
  const { resume, batches, sent } = await unansweredThen([someone(1)], [], {
    DescribeExecution: async ({ input }, next) => {
      if (!String(input.executionArn).includes(':later-')) return next();
      left -= 1;
      // As often as the SDK asks by itself, and then some.
      if (left < 0 && left % 6 !== 0) return refused('ThrottlingException', 'Rate exceeded');
      asked.push(String(input.executionArn));
      return next();
    },
  });
  for (let n = 0; n < 23; n += 1) {
    const batch = `later-${n}`;
    const input = JSON.stringify({ file: `updates/${batch}/input.jsonl` });
    batches.set(batch, { name: batch, batch, input, looks: 0, startedAt: 1_795_000_100 });
  }
  left = 20;

  const { code, stderr } = await resume();

  expect(code, stderr).toBe(0);
  expect(sent()).toBe(`${jsonl(people(1))}\n${jsonl(people(4).slice(2))}`);
  expect(asked.length).toBe(23);
});

test('--over-newer is about a batch that is resumed', async () => {
  const { cli } = await updatingCloud();

  const { code, stderr } = await cli('update', await fileOf(jsonl(people(1))), '--over-newer');

  expect([code, stderr]).toEqual([2, '--over-newer belongs to --resume.\n']);
});
