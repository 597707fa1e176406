import { expect, test } from 'vitest';
import { adoptableRun } from '../../../cli/runs/retry-run.ts';
import { newState, runState } from '../../support/builders.ts';

const failed = { name: 'night-1', status: 'FAILED', error: 'StorageUnavailable' };
const begun = { name: 'RunFailed', state: runState() };
const before = (name: string) => ({ name, state: newState() });

test.each([
  { status: 'FAILED', error: 'DownloadIncomplete' },
  { status: 'FAILED', error: 'ExportDeadlineExceeded' },
  { status: 'ABORTED', error: 'StoppedByOperator' },
  { status: 'ABORTED', error: null },
  { status: 'TIMED_OUT', error: 'States.Timeout' },
])('a retry of a run that ended so after its export was requested adopts it: %j', (end) => {
  expect(adoptableRun({ ...failed, ...end }, begun)).toBe('night-1');
});

test.each(['ExportFailed', 'ExportNotFound', 'FileRejected', 'FileQuarantined', 'DownloadTooLarge'])(
  'after %s the same export would fail again',
  (error) => {
    expect(adoptableRun({ ...failed, error }, begun, 'night-0')).toBeUndefined();
  },
);

test.each(['RUNNING', 'SUCCEEDED'])('a run that is %s keeps its export for itself', (status) => {
  expect(adoptableRun({ ...failed, status, error: null }, begun, 'night-0')).toBeUndefined();
});

test('a run that requested nothing has nothing to adopt, but what it should have adopted itself', () => {
  expect(adoptableRun(failed, before('RunFailed'))).toBeUndefined();
  expect(adoptableRun(failed, before('RunFailed'), 'night-0')).toBe('night-0');
  expect(adoptableRun(failed, { name: '', state: undefined }, 'night-0')).toBeUndefined();
});

test.each([
  ['CreateExport', { status: 'ABORTED', error: null }],
  ['StepCrashed', { status: 'FAILED', error: 'StepCrashed' }],
])('a run that was left in %s without an answer may have an export', (state, end) => {
  expect(adoptableRun({ ...failed, ...end }, before(state))).toBe('night-1');
  expect(adoptableRun({ ...failed, ...end }, before(state), 'night-0')).toBe('night-0');
});
