import { beforeEach, expect, test } from 'vitest';
import type { ResultLine } from '../../../core/batch/batch-results.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import { fileOf, idOf, jsonl, people } from '../support/sent-batch.ts';

beforeEach(() => shortWaits());

const unanswered: Partial<ResultLine> = { outcome: 'UNKNOWN', error: 'CrmUnavailable', status: null, attempts: 3 };

/** A batch of four people without answers from the CRM, then another batch. */
async function unansweredThen(later: object[]) {
  const place = (batch: string) => [...cloud.batches.keys()].indexOf(batch);
  const lineOutcome = (_: number, batch: string) => (place(batch) === 0 ? unanswered : {});
  const cloud: Awaited<ReturnType<typeof updatingCloud>> = await updatingCloud({ lineOutcome });
  for (const records of [people(4), later]) await cloud.cli('update', await fileOf(jsonl(records)), '--yes');
  const [first = '', second = ''] = cloud.batches.keys();
  const sent = () => cloud.objects.get(`updates/${first}-r2/input.jsonl`)?.toString();
  const resume = (...args: string[]) => cloud.cli('update', '--resume', first, '--yes', ...args);
  return { ...cloud, first, second, sent, resume };
}

const someone = (n: number) => ({ id: idOf(n).toUpperCase(), city: 'Eilat' });

test('update --resume refuses a batch if a later one began, and lists the later batches and what to do', async () => {
  const { resume, batches, first, second } = await unansweredThen([someone(9)]);

  const { code, stderr } = await resume();

  expect(code).toBe(2);
  expect(stderr).toContain(`Batches that started after ${first} may have changed the same customers: ${second}.`);
  expect(stderr).toMatch(new RegExp(`update-status ${first} --failed-to FILE.jsonl `));
  expect(stderr).toMatch(/add --over-newer\. Nothing was sent\.\n$/);
  expect(batches.size).toBe(2);
});

test('--over-newer sends all remaining lines', async () => {
  const { resume, sent } = await unansweredThen([someone(1)]);

  const { code, stderr } = await resume('--over-newer');

  expect(code, stderr).toBe(0);
  expect(sent()).toBe(jsonl(people(4)));
});

test('--dry-run is refused as well, and with --over-newer shows the remaining lines', async () => {
  const { resume, batches, first } = await unansweredThen([someone(1)]);

  const refused = await resume('--dry-run');
  const shown = await resume('--dry-run', '--over-newer');

  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(shown.stdout).toContain(`the remaining lines of ${first}: 4 records on 4 lines, all valid. Nothing was sent.`);
  expect(batches.size).toBe(2);
});

test('a later batch counts while it is under way, even without a result', async () => {
  const { resume, batches, second } = await unansweredThen([someone(1)]);
  const running = batches.get(second);
  if (running) running.looks = 1000;

  expect(await resume()).toMatchObject({ code: 2, stderr: expect.stringContaining(second) });
});

test('a later batch does not count if it was refused before it began', async () => {
  const { resume, batches, objects, second, sent } = await unansweredThen([someone(1)]);
  for (const key of objects.keys())
    if (key.startsWith(`updates/${second}/`) && !key.endsWith('input.jsonl')) objects.delete(key);
  expect(batches.has(second)).toBe(true);

  await resume();

  expect(sent()).toBe(jsonl(people(4)));
});

test('if Step Functions has forgotten the batch, no line is sent, because later batches are unknown', async () => {
  const { resume, batches, first, sent } = await unansweredThen([someone(1)]);
  batches.clear();

  const { code, stderr } = await resume();

  expect(code).toBe(2);
  expect(stderr).toContain(`Step Functions no longer has the execution of ${first}`);
  expect(sent()).toBeUndefined();
});
