import type { Context } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { ERRORS, RunError } from '../../core/errors.ts';
import type { FunctionLog } from '../../core/log/log.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { RECORDER, STEPS, type StepName } from '../../core/step/steps.ts';
import { exampleDeployment, feedDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { definitionOf } from '../../scripts/template.ts';
import { composed } from '../support/deps.ts';
import { type Clock, type Execution, execute, type Invoke, type Options } from './support/interpreter.ts';

const definition = definitionOf(synthesise(feedDeployment()));
const start = '2026-01-01T22:30:00.000Z';

/** The answers of each step, in order. The step throws an error in the list. */
type Script = Partial<Record<StepName, (Partial<RunState> | Error)[]>>;

/** Runs the machine with steps that answer from a script, through the wrapper of the functions. */
function walk(script: Script, options: Options = {}): Promise<Execution> {
  const left: Script = Object.fromEntries(Object.entries(script).map(([step, answers]) => [step, [...answers]]));
  const invoke: Invoke = async (step, payload, clock) => {
    if (step === RECORDER) return null;
    const name = step as StepName;
    const answer = left[name]?.shift();
    if (!answer) throw new Error(`the script has no further answer of ${step}`);
    const answered = async () => {
      if (answer instanceof Error) throw answer;
      return answer as never;
    };
    return asStep<StepName, Invocation>(name, answered, ...composed(dependencies(clock)))(payload, CONTEXT);
  };
  return execute(definition, invoke, { input: { entity: 'leads' }, start, ...options });
}

const CONTEXT = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 900_000 } as Context;

function dependencies({ now }: Clock) {
  const log: FunctionLog = { info: () => {}, warn: () => {}, error: () => {}, about: () => log, measure: () => {} };
  return { deployment: exampleDeployment(), log, now, random: () => 0 };
}

const CREATED = { outcome: 'CREATED', waitSeconds: 15 };
const READY = { outcome: 'READY' };
const STORED = { outcome: 'STORED' };
const PUBLISHED = { outcome: 'PUBLISHED', manifestKey: 'runs/entity=leads/run=run-1/_manifest.json' };

const CHANGES_DUE = { outcome: 'CHANGES_DUE' };
const TABLE_DUE = { ...PUBLISHED, outcome: 'TABLE_DUE' };

const TO_STORED: Script = { CreateExport: [CREATED], CheckStatus: [READY], DownloadFile: [STORED] };
const HAPPY: Script = { ...TO_STORED, PublishFile: [PUBLISHED] };

/** The answers of a good run up to a step with this answer. */
const until = (step: keyof typeof STEPS, answer: Partial<RunState> | Error): Script =>
  ({
    WriteTable: { ...HAPPY, PublishFile: [TABLE_DUE], WriteTable: [answer] },
    WriteChanges: { ...HAPPY, PublishFile: [TABLE_DUE], WriteTable: [CHANGES_DUE], WriteChanges: [answer] },
  })[step as string] ?? { ...HAPPY, [step]: [answer] };

/** The states of a run without the choices. */
const way = ({ trail }: Execution) => trail.filter((id) => !id.startsWith('After')).join(' ');

const TO_FILE = 'BeginRun CreateExport WaitBeforeCheck CheckStatus DownloadFile PublishFile';
const OF_RELEASE = { entity: 'leads', release: 'night-1', reason: 'It is right.' };
const OF_TABLE = { entity: 'leads', table: { run: 'night-1' } };
const OVERTAKEN = until('WriteTable', { outcome: 'SUPERSEDED' });
const CONTINUED = { outcome: 'CONTINUE', waitSeconds: 30 };

test.each<[what: string, way: string, script: Script, input?: object]>([
  ['a run that ends published', `${TO_FILE} RecordNight ExportPublished`, HAPPY],
  ['a run with a table', `${TO_FILE} WriteTable RecordNight TableWritten`, until('WriteTable', { outcome: 'WRITTEN' })],
  ['a run whose table another run writes', `${TO_FILE} WriteTable RecordNight TableSuperseded`, OVERTAKEN],
  [
    'the release of a file',
    'BeginRun PublishFile RecordNight ExportPublished',
    { PublishFile: [PUBLISHED] },
    OF_RELEASE,
  ],
  [
    'the table of a published file',
    'BeginRun WriteTable WaitBeforeTable WriteTable RecordNight TableWritten',
    { WriteTable: [CONTINUED, { outcome: 'WRITTEN' }] },
    OF_TABLE,
  ],
])('%s passes only the states %s', async (_what, states, script, input = { entity: 'leads' }) => {
  const run = await walk(script, { input });

  expect(run.status).toBe('SUCCEEDED');
  expect(way(run)).toBe(states);
  if (script.PublishFile) expect(run.output).toMatchObject({ manifestKey: PUBLISHED.manifestKey, execution: 'run-1' });
});

test.each([['text'], [[1, 2]], [null]])('passes the input %j to the first step unchanged', async (input) => {
  const run = await walk(HAPPY, { input });

  expect(run.output).toMatchObject({ input: input ?? {}, startedAt: start });
});

test.each(Object.keys(STEPS) as (keyof typeof STEPS)[])('a failed run shows the error of %s', async (step) => {
  const failure = new RunError('ExportFailed', 'The CRM reports a failure.');

  const run = await walk(until(step, failure));

  expect(run).toMatchObject({
    status: 'FAILED',
    error: 'ExportFailed',
    cause: `The CRM reports a failure. ${ERRORS.ExportFailed.advice}`,
  });
  expect(run.trail.slice(-3)).toEqual(['RecordNight', 'AfterRecordNight', 'RunFailed']);
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

test.each(Object.keys(STEPS) as (keyof typeof STEPS)[])(
  'a step that crashes ends the run with a cause that names the exception, not its message: %s',
  async (step) => {
    const bug = new SyntaxError('Unexpected token in "Dana Cohen,050-1234567"');

    const run = await walk(until(step, bug));
    const [error, who] =
      ({ WriteTable: ['TableNotWritten', step], WriteChanges: ['ChangesNotWritten', step] } as const)[step as string] ??
      (['StepCrashed', 'A step'] as const);

    expect(run).toMatchObject({ status: 'FAILED', error });
    expect(run.cause).toMatch(new RegExp(`^${who} .* SyntaxError `));
    expect(run.cause).toContain(ERRORS[error].advice);
    expect(JSON.stringify(run)).not.toContain('Dana');
  },
);
