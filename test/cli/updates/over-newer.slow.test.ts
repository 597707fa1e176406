import { beforeEach, expect, test, vi } from 'vitest';
import type { ResultLine } from '../../../core/batch/batch-results.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { shortWaits } from '../../support/short-waits.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import type { CliResult } from '../support/run-cli.ts';
import { fileOf, idOf, jsonl, people } from '../support/sent-batch.ts';

clockAt('2026-11-30T12:00:00.000Z');
beforeEach(() => shortWaits());

const unanswered: Partial<ResultLine> = { outcome: 'UNKNOWN', error: 'CrmUnavailable', status: null, attempts: 3 };

/** A batch of four people without answers from the CRM, then an hour later another batch. */
async function unansweredThen(later: object[]) {
  const place = (batch: string) => [...cloud.batches.keys()].indexOf(batch);
  const lineOutcome = (_: number, batch: string) => (place(batch) === 0 ? unanswered : {});
  const cloud: Awaited<ReturnType<typeof updatingCloud>> = await updatingCloud({ lineOutcome });
  await cloud.cli('update', fileOf(jsonl(people(4))), '--yes');
  vi.setSystemTime('2026-11-30T13:00:00Z');
  await cloud.cli('update', fileOf(jsonl(later)), '--yes');
  const [first = '', second = ''] = cloud.batches.keys();
  const sent = () => cloud.objects.get(`updates/${first}-r2/input.jsonl`)?.toString();
  const resume = (...args: string[]) => cloud.cli('update', '--resume', first, '--yes', ...args);
  return { ...cloud, first, second, sent, resume };
}

const someone = (n: number) => ({ id: idOf(n).toUpperCase(), city: 'Eilat' });

test('update --resume refuses a batch if a later one began or may have begun, and says what to do', async () => {
  const { resume, batches, objects, second, sent } = await unansweredThen([someone(9)]);
  const refused: [string, CliResult][] = [
    ['a later batch has ended', await resume()],
    ['a dry run', await resume('--dry-run')],
  ];
  const running = batches.get(second);
  if (running) running.looks = 1000;
  objects.delete(`updates/${second}/_started.json`);
  refused.push(['a later batch is under way, without a result', await resume()]);
  const dryRun = await resume('--dry-run', '--over-newer');
  expect([batches.size, sent()]).toEqual([2, undefined]);
  batches.clear();
  refused.push(['Step Functions has forgotten the batch, so later ones are unknown', await resume()]);

  expect(refused.map(([, { code, stdout }]) => [code, stdout])).toEqual(Array(4).fill([2, '']));
  expect(sent()).toBeUndefined();
  await expectResults('update-over-newer', [...refused, ['a dry run with --over-newer', dryRun]]);
});

test('--over-newer sends all remaining lines', async () => {
  const { resume, sent } = await unansweredThen([someone(1)]);

  const { code, stderr } = await resume('--over-newer');

  expect(code, stderr).toBe(0);
  expect(sent()).toBe(jsonl(people(4)));
});

test('a later batch does not count if it was refused before it began', async () => {
  const { resume, batches, objects, second, sent } = await unansweredThen([someone(1)]);
  for (const key of objects.keys())
    if (key.startsWith(`updates/${second}/`) && !key.endsWith('input.jsonl')) objects.delete(key);
  expect(batches.has(second)).toBe(true);

  await resume();

  expect(sent()).toBe(jsonl(people(4)));
});
