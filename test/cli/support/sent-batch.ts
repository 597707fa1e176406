import type { ResultLine } from '../../../core/batch/batch-results.ts';
import { tempFile } from '../../support/project.ts';
import { updatingCloud } from './cloud/updates.ts';

export const idOf = (n: number) => `3f2504e0-4f89-41d3-9a0c-${n.toString(16).padStart(12, '0')}`;

export const fileOf = (content: string, name = 'customers.jsonl') => tempFile(content, name);

export const jsonl = (records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
export const people = (count: number) => Array.from({ length: count }, (_, n) => ({ id: idOf(n), city: `Haifa ${n}` }));

export const refusedLine: Partial<ResultLine> = {
  outcome: 'REJECTED',
  error: 'CrmRejectedRequest',
  status: 422,
  fields: ['city'],
};
export const failedLine: Partial<ResultLine> = { outcome: 'FAILED', error: 'CrmUnavailable', status: 503, attempts: 3 };
/** Lines that fail at the first batch and are applied when they are sent again. */
export const atFirst = (line: number, batch: string) => (batch.endsWith('-r2') ? {} : lineOutcome(line));

/** Errors in which a batch ends without a summary. */
export const DIED = { error: 'StepCrashed', cause: 'It died.' };
export const STOPPED = { error: 'StoppedByOperator', cause: 'Stopped.' };

export async function withBatch(options: Parameters<typeof updatingCloud>[0], lines = jsonl(people(10))) {
  const cloud = await updatingCloud(options);
  const sending = await cloud.cli('update', await fileOf(lines), '--yes');
  const [first = ''] = cloud.batches.keys();
  const sent = (batch: string) => cloud.objects.get(`updates/${batch}/input.jsonl`)?.toString() ?? '';
  const idsSent = (batch: string) =>
    sent(batch)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id);
  return { ...cloud, sending, first, sent, idsSent };
}

export const applied = { outcome: 'APPLIED', error: null, status: 200, attempts: 1, at: '2026-11-20T02:00:01.000Z' };
export const lineOutcome = (line: number) => (line % 10 === 3 ? refusedLine : line % 10 === 7 ? failedLine : {});
