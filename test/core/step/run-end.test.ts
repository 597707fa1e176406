import { expect, test } from 'vitest';
import { asBatchStep, batchEnd } from '../../../core/batch/batch-state.ts';
import { RunError } from '../../../core/errors.ts';
import { asStep, exportRunEnd } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import { MACHINE_VERSION } from '../../../core/step/steps.ts';
import { EXPORT_ID, newState, run, runState, STARTED_AT, storedFile } from '../../support/builders.ts';
import { composed, lambdaContext, NOW, testDeps } from '../../support/deps.ts';

const failure = { error: 'ExportFailed', cause: 'It failed.' };
const published = { outcome: 'PUBLISHED', file: storedFile({ bytes: 96_000 }), rows: 240, checks: 5 };

function endOf(overrides: Partial<RunState>) {
  return exportRunEnd(runState(overrides), new Date(NOW));
}

const counted = (outcome: string, measures: object = {}) => ({ outcome, measures: { RunsEnded: 1, ...measures } });
const COUNTED = { RunDuration: 600, FileBytes: 96_000, FileRows: 240, StatusChecks: 5 };
const LATER = '2026-11-20T01:10:00.500Z';
const partial = run({ kind: 'partial', differs: ['filters'] });
const stopped = (error: string, schemaChanges = 0) => ({
  outcome: 'FAILED',
  failure: { error, cause: 'No.' },
  run: run({ schemaChanges }),
});

test.each<[string, Partial<RunState>, object | undefined]>([
  ['a published run', published, counted('PUBLISHED', COUNTED)],
  ['a run whose table is due', { ...published, outcome: 'TABLE_DUE' }, counted('PUBLISHED', COUNTED)],
  // The alarm on missing publications does not count it.
  ['a run with its own plan', { ...published, run: partial }, counted('PARTIAL', COUNTED)],
  ['a file without rows', { ...published, rows: null }, counted('PUBLISHED', { ...COUNTED, FileRows: undefined })],
  [
    'a run whose clock is behind',
    { ...published, startedAt: LATER },
    counted('PUBLISHED', { ...COUNTED, RunDuration: 0 }),
  ],
  [
    'a file with warnings and changed columns',
    { ...published, warningCount: 2, run: run({ schemaChanges: 3 }) },
    counted('PUBLISHED', { ...COUNTED, FileWarnings: 2, SchemaChanges: 3 }),
  ],
  ['a failed run', { outcome: 'FAILED', failure }, counted('ExportFailed')],
  ['a run that stops at changed columns', stopped('SchemaChanged'), counted('SchemaChanged', { SchemaChanges: 1 })],
  ['a stopped file, changed columns', stopped('FileQuarantined', 3), counted('FileQuarantined', { SchemaChanges: 3 })],
  ['a stopped file', stopped('FileQuarantined'), counted('FileQuarantined')],
  // The run has counted already.
  ['a written table', { ...published, outcome: 'WRITTEN', manifestKey: 'm' }, undefined],
  [
    'a table that is not written',
    { outcome: 'FAILED', manifestKey: 'm', failure },
    { outcome: 'TableNotWritten', measures: { TablesNotWritten: 1 } },
  ],
  [
    'a table on request that is not written',
    { outcome: 'FAILED', failure: { error: 'TableNotWritten', cause: 'No.' } },
    { outcome: 'TableNotWritten', measures: { TablesNotWritten: 1 } },
  ],
  ...['CREATED', 'CONTINUE', 'NOT_READY'].map((outcome): [string, Partial<RunState>, undefined] => [
    `a run in ${outcome}`,
    { outcome },
    undefined,
  ]),
])('the metrics of %s', (_, state, end) => {
  expect(endOf(state)).toEqual(end);
});

/** A step of a run with this input that fails, and its log. */
async function failing(error: Error, input?: unknown) {
  const { log, ...deps } = testDeps();
  const fails = asStep('CreateExport', () => Promise.reject(error), ...composed({ ...deps, log }));
  await fails(newState(input), lambdaContext()).catch(() => undefined);
  return log;
}

test.each([
  ['InvalidInput', 'VERIFY'],
  ['ConfigInvalid', 'ConfigInvalid'],
] as const)('counts a run of verify that fails with %s as %s', async (error, outcome) => {
  const log = await failing(new RunError(error, 'No.'), { verify: '20261122T020000Z-1a2b3c' });

  expect(log.measured).toMatchObject([{ outcome }]);
});

test('counts a batch as APPLIED or under the name of its error', () => {
  expect(batchEnd({ outcome: 'SUMMARIZED', failure: null, chunk: null })?.outcome).toBe('APPLIED');
  expect(batchEnd({ outcome: 'FAILED', failure, chunk: null })?.outcome).toBe('ExportFailed');
});

test.each(['ExportFailed', 'ReauthorizationRequired'])('a chunk that fails with %s does not end its batch', (error) => {
  expect(batchEnd({ outcome: 'FAILED', failure: { ...failure, error }, chunk: {} })).toBeUndefined();
  expect(batchEnd({ outcome: 'FINISHED', failure: null, chunk: {} })).toBeUndefined();
});

test('asStep measures the end of a run with its entity', async () => {
  const deps = testDeps();
  const handler = asStep(
    'PublishFile',
    async () => ({ outcome: 'PUBLISHED' as const, rows: 3, manifestKey: 'm' }),
    ...composed(deps),
  );

  await handler(runState({ file: storedFile({ bytes: 10 }) }), lambdaContext());

  expect(deps.log.measured).toMatchObject([
    {
      run: { entity: 'leads', execution: 'night-1', exportId: EXPORT_ID },
      outcome: 'PUBLISHED',
      values: { RunsEnded: 1, FileBytes: 10, FileRows: 3 },
    },
  ]);
});

test('asBatchStep measures the end of a batch without an entity', async () => {
  const deps = testDeps();
  const handler = asBatchStep('SummarizeBatch', async () => ({ outcome: 'SUMMARIZED' as const }), ...composed(deps));

  await handler(
    { machineVersion: MACHINE_VERSION, input: {}, execution: 'batch-1', startedAt: STARTED_AT },
    lambdaContext(),
  );

  expect(deps.log.measured).toEqual([{ run: { execution: 'batch-1' }, outcome: 'APPLIED', values: { RunsEnded: 1 } }]);
});

test.each([
  ['known before the run has begun', { entity: 'contacts' }, 'contacts'],
  ['unknown if the input names none', { entity: 'leeds' }, undefined],
])('the entity of a run that fails at its start is %s', async (_, input, entity) => {
  const log = await failing(new RunError('ConfigInvalid', 'No.'), input);

  expect(log.measured).toMatchObject([{ run: { entity }, outcome: 'ConfigInvalid', values: { RunsEnded: 1 } }]);
  expect(log.lines[0]?.fields.entity).toBe(entity);
});

test('measures nothing if a step waits or crashes', async () => {
  const deps = testDeps();
  const waiting = asStep('CheckStatus', async () => ({ outcome: 'PENDING' as const }), ...composed(deps));

  await waiting(runState(), lambdaContext());

  expect((await failing(new TypeError('x'))).measured).toEqual([]);
  expect(deps.log.measured).toEqual([]);
});
