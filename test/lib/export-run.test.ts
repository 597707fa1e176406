import { describe, expect, test } from 'vitest';
import { ERRORS, RunError } from '../../core/errors.ts';
import type { RunState } from '../../core/step/states.ts';
import { STEPS } from '../../core/step/steps.ts';
import { exampleDeployment, feedDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { definitionOf } from '../../scripts/template.ts';
import { type Execution, execute, type Options } from './support/interpreter.ts';
import { PlatformError, type Script, scriptedSteps } from './support/steps.ts';

const definition = definitionOf(synthesise(feedDeployment()));
const start = '2026-01-01T22:30:00.000Z';

/** Runs the machine with scripted steps, which use the wrapper of the functions. */
function walk(script: Script, options: Options = {}): Promise<Execution> {
  const invoke = scriptedSteps(script, exampleDeployment());
  return execute(definition, invoke, { input: { entity: 'leads' }, start, ...options });
}

const CREATED = { outcome: 'CREATED', waitSeconds: 15 };
const PENDING = { outcome: 'PENDING', waitSeconds: 20 };
const READY = { outcome: 'READY' };
const STORED = { outcome: 'STORED' };
const PUBLISHED = { outcome: 'PUBLISHED', manifestKey: 'runs/entity=leads/run=run-1/_manifest.json' };

const CHANGES_DUE = { outcome: 'CHANGES_DUE' };
const TABLE_DUE = { ...PUBLISHED, outcome: 'TABLE_DUE' };

const HAPPY: Script = {
  CreateExport: [CREATED],
  CheckStatus: [READY],
  DownloadFile: [STORED],
  PublishFile: [PUBLISHED],
};

/** The answers of a good run up to a step with this answer. */
const until = (step: keyof typeof STEPS, answer: Partial<RunState> | Error): Script =>
  ({
    WriteTable: { ...HAPPY, PublishFile: [TABLE_DUE], WriteTable: [answer] },
    WriteChanges: { ...HAPPY, PublishFile: [TABLE_DUE], WriteTable: [CHANGES_DUE], WriteChanges: [answer] },
  })[step as string] ?? { ...HAPPY, [step]: [answer] };

/** The states of a run without the choices. */
const way = ({ trail }: Execution) => trail.filter((id) => !id.startsWith('After')).join(' ');

describe('an execution that releases a stored file', () => {
  const input = { entity: 'leads', release: 'night-1', reason: 'It is right.' };

  test('goes straight to PublishFile, without a call of the CRM', async () => {
    const run = await walk({ PublishFile: [PUBLISHED] }, { input });

    expect(way(run)).toBe('BeginRun PublishFile RecordNight ExportPublished');
  });
});

describe('an execution that writes the table of a published file', () => {
  const input = { entity: 'leads', table: { run: 'night-1' } };

  test('goes straight to WriteTable, without a call of the CRM or a publication', async () => {
    const run = await walk(
      { WriteTable: [{ outcome: 'CONTINUE', waitSeconds: 30 }, { outcome: 'WRITTEN' }] },
      { input },
    );

    expect(way(run)).toBe('BeginRun WriteTable WaitBeforeTable WriteTable RecordNight TableWritten');
  });
});

describe('a run whose file becomes a table', () => {
  test.each([
    ['WRITTEN', 'TableWritten'],
    ['SUPERSEDED', 'TableSuperseded'],
  ])('succeeds if WriteTable answers %s', async (outcome, end) => {
    const run = await walk({ ...HAPPY, PublishFile: [TABLE_DUE], WriteTable: [{ outcome }] });

    expect(run.status).toBe('SUCCEEDED');
    expect(way(run)).toMatch(new RegExp(`PublishFile WriteTable RecordNight ${end}$`));
    expect(run.output).toMatchObject({ manifestKey: PUBLISHED.manifestKey });
  });
});

describe('a successful run', () => {
  test('passes every step once and ends published', async () => {
    const run = await walk(HAPPY);

    expect(run.status).toBe('SUCCEEDED');
    expect(way(run)).toBe(
      'BeginRun CreateExport WaitBeforeCheck CheckStatus DownloadFile PublishFile RecordNight ExportPublished',
    );
    expect(run.seconds).toBe(15);
    expect(run.output).toMatchObject({ outcome: 'PUBLISHED', manifestKey: PUBLISHED.manifestKey, execution: 'run-1' });
  });

  test('writes 45 history entries, as AWS would', async () => {
    const run = await walk(HAPPY);

    // ExecutionStarted, ExecutionSucceeded; Pass, Wait, Succeed with 2 each; five tasks with 5 each; six choices with 2 each.
    expect(run.events).toBe(2 + 3 * 2 + 5 * 5 + 6 * 2);
  });

  test.each([['leads'], [[1, 2]], ['text'], [42], [null]])(
    'passes the input %j to the first step unchanged',
    async (input) => {
      const run = await walk(HAPPY, { input });

      expect(run.output).toMatchObject({ input: input ?? {}, startedAt: start });
    },
  );
});

describe('a slow run', () => {
  test('waits and checks the status again while the export is pending', async () => {
    const run = await walk({ ...HAPPY, CheckStatus: [PENDING, PENDING, READY] });

    expect(run.status).toBe('SUCCEEDED');
    expect(way(run)).toContain(
      'WaitBeforeCheck CheckStatus WaitBeforeCheck CheckStatus WaitBeforeCheck CheckStatus DownloadFile',
    );
    expect(run.seconds).toBe(15 + 20 + 20);
  });

  test('checks the status again if the file is not ready yet', async () => {
    const NOT_READY = { outcome: 'NOT_READY', waitSeconds: 30 };

    const run = await walk({ ...HAPPY, CheckStatus: [READY, READY], DownloadFile: [NOT_READY, STORED] });

    expect(run.status).toBe('SUCCEEDED');
    expect(way(run)).toContain('DownloadFile WaitBeforeCheck CheckStatus DownloadFile PublishFile');
  });

  test.each([
    ['CreateExport', 'CrmUnavailable', 'CreateExport WaitBeforeCreate CreateExport'],
    ['CheckStatus', 'RateLimited', 'CheckStatus WaitBeforeCheck CheckStatus'],
    ['DownloadFile', 'DownloadIncomplete', 'DownloadFile WaitBeforeDownload DownloadFile'],
    ['PublishFile', 'StorageUnavailable', 'PublishFile WaitBeforePublish PublishFile'],
  ] as const)('repeats %s after a wait if it fails with %s', async (step, name, loop) => {
    const run = await walk({ ...HAPPY, [step]: [new RunError(name, 'It did not answer.'), ...(HAPPY[step] ?? [])] });

    expect(run.status).toBe('SUCCEEDED');
    expect(way(run)).toContain(loop);
  });

  test('waits as long as the CRM requests', async () => {
    const refused = new RunError('RateLimited', 'Too many requests.', { retryAfterSeconds: 1234 });

    const run = await walk({ ...HAPPY, CheckStatus: [refused, READY] });

    expect(run.seconds).toBe(15 + 1234);
  });

  test('fails at its deadline with the error that delayed it', async () => {
    const refused = new RunError('RateLimited', 'Too many requests.', { retryAfterSeconds: 1_000_000 });

    const run = await walk({ ...HAPPY, CheckStatus: [refused, refused] });

    expect(run).toMatchObject({ status: 'FAILED', error: 'RateLimited', seconds: 21_600 });
  });
});

describe('a failed run', () => {
  test.each(Object.keys(STEPS) as (keyof typeof STEPS)[])('shows the error of %s and what to do', async (step) => {
    const failure = new RunError('ExportFailed', 'The CRM reports a failure.');

    const run = await walk(until(step, failure));

    expect(run).toMatchObject({
      status: 'FAILED',
      error: 'ExportFailed',
      cause: `The CRM reports a failure. ${ERRORS.ExportFailed.advice}`,
    });
    expect(run.trail.slice(-3)).toEqual(['RecordNight', 'AfterRecordNight', 'RunFailed']);
  });
});

describe('an unknown outcome, as from another release,', () => {
  test.each(Object.keys(STEPS) as (keyof typeof STEPS)[])('of %s ends the run in UnknownOutcome', async (step) => {
    const run = await walk(until(step, { outcome: 'MAYBE' }));

    expect(run).toMatchObject({ status: 'FAILED', error: 'UnknownOutcome' });
    expect(run.cause).toContain(ERRORS.UnknownOutcome.advice);
  });

  test('of another step does not end the run well', async () => {
    const run = await walk(until('CheckStatus', { outcome: 'PUBLISHED' }));

    expect(run).toMatchObject({ status: 'FAILED', error: 'UnknownOutcome' });
    expect(run.trail.slice(-4)).toEqual(['OutcomeUnknown', 'RecordNight', 'AfterRecordNight', 'UnknownOutcome']);
  });
});

describe('a step that crashes', () => {
  test.each(Object.keys(STEPS) as (keyof typeof STEPS)[])(
    'ends the run with a cause that names the exception, not its message: %s',
    async (step) => {
      const bug = new SyntaxError('Unexpected token in "Dana Cohen,050-1234567"');

      const run = await walk(until(step, bug));
      const [error, who] =
        ({ WriteTable: ['TableNotWritten', step], WriteChanges: ['ChangesNotWritten', step] } as const)[
          step as string
        ] ?? (['StepCrashed', 'A step'] as const);

      expect(run).toMatchObject({ status: 'FAILED', error });
      expect(run.cause).toBe(`${who} stopped with SyntaxError before it could answer. ${ERRORS[error].advice}`);
      expect(JSON.stringify(run)).not.toContain('Dana');
    },
  );

  test('is invoked again if the platform refused the call, and the run continues', async () => {
    const refused = new PlatformError('Lambda.TooManyRequestsException');

    const run = await walk({ ...HAPPY, CreateExport: [refused, refused, CREATED] }, { drawn: 1 });

    expect(run.status).toBe('SUCCEEDED');
    expect(run.seconds).toBe(15 + 30 + 15);
  });

  test('ends the run after the last attempt', async () => {
    const died = new PlatformError('Runtime.OutOfMemory');

    const run = await walk({ ...HAPPY, DownloadFile: [died, died, died] }, { drawn: 1 });

    expect(run).toMatchObject({ status: 'FAILED', error: 'StepCrashed', seconds: 15 + 5 + 10 });
    expect(run.cause).toContain('Runtime.OutOfMemory');
  });

  test('is not invoked again if CreateExport may have made an export', async () => {
    const run = await walk({ ...HAPPY, CreateExport: [new PlatformError('Sandbox.Timedout')] });

    expect(run).toMatchObject({ status: 'FAILED', error: 'StepCrashed' });
    expect(way(run)).toBe('BeginRun CreateExport RecordNight StepCrashed');
  });
});

test('a wait that is not a whole number ends the run uncaught, as on AWS', async () => {
  const run = await walk({ ...HAPPY, CreateExport: [{ outcome: 'CREATED', waitSeconds: 1.5 }] });

  expect(run).toMatchObject({ status: 'FAILED', error: 'States.Runtime' });
});

test('a run with more than 25,000 history entries is ended, as on AWS', async () => {
  const looping: Script = { ...HAPPY, CheckStatus: Array<object>(3000).fill({ outcome: 'PENDING', waitSeconds: 1 }) };

  const run = await walk(looping);

  expect(run).toMatchObject({ status: 'FAILED', error: 'States.Runtime' });
});
