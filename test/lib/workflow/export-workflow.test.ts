import { join } from 'node:path';
import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { ERRORS } from '../../../core/errors.ts';
import { STEPS, type StepName } from '../../../core/step/steps.ts';
import { exampleDeployment, feedDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { definitionOf } from '../../../scripts/template.ts';
import { exportRun, pathsIn, reachable, stateOf, statesOfType } from '../support/definition.ts';
import { delaysOf } from '../support/interpreter.ts';

const SCREEN = join(import.meta.dirname, '../../screens/export-run.asl.txt');
/** The definition with tables, which only add states. */
const definition = definitionOf(synthesise(feedDeployment()));
const states = Object.entries(definition.States);
const steps = Object.keys(STEPS) as StepName[];
const state = (id: string) => stateOf(definition, id);

const SUCCESSES = [
  'AlreadyStarted',
  'ChangesUpToDate',
  'ChangesWritten',
  'ExportPublished',
  'ExportStored',
  'NotDue',
  'TableSuperseded',
  'TableWritten',
];
const ENDS = [...SUCCESSES, 'ChangesCrashed', 'RunFailed', 'StepCrashed', 'TableCrashed', 'UnknownOutcome'];

// docs/design/export-run.md has the next state for each outcome; `generated.test.ts` compares it.
describe('the definition as a whole', () => {
  test('equals the stored one', async () => {
    await expect(`${JSON.stringify(definition, undefined, 2)}\n`).toMatchFileSnapshot(SCREEN);
  });

  test('is accepted by the validator of the Amazon States Language', () => {
    const { isValid, errorsText } = validate(structuredClone(definition)); // the validator changes its argument

    expect(errorsText('\n')).toBe('');
    expect(isValid).toBe(true);
  });

  test('reaches every state from the start', () => {
    const reached = reachable(definition, [definition.StartAt]);

    expect([...reached].sort()).toEqual(Object.keys(definition.States).sort());
  });

  test('ends only in successes and five failures', () => {
    const ends = states.filter(([, { Type }]) => Type === 'Succeed' || Type === 'Fail').map(([id]) => id);

    expect(ends.sort()).toEqual([...ENDS].sort());
    expect(statesOfType(definition, 'Succeed').sort()).toEqual(SUCCESSES);
    for (const [id, value] of states) expect(value, id).not.toHaveProperty('End');
  });

  test('can reach an end from every state', () => {
    for (const [id] of states) {
      expect(
        ENDS.some((end) => reachable(definition, [id]).has(end)),
        id,
      ).toBe(true);
    }
  });

  test('makes every loop pass a wait', () => {
    for (const id of steps) {
      const withoutWaiting = reachable(definition, [...successorsOf(id)], (next) => state(next).Type !== 'Wait');

      expect(withoutWaiting.has(id), id).toBe(false);
    }
  });

  test('uses only fields that AWS and every local engine interpret alike', () => {
    const known = new Set([
      ...['Type', 'Comment', 'Next', 'Default', 'Choices', 'Variable', 'StringEquals', 'IsPresent'],
      ...['Resource', 'Parameters', 'Result'],
      ...['Retry', 'Catch', 'ErrorEquals', 'IntervalSeconds', 'MaxAttempts', 'BackoffRate', 'MaxDelaySeconds'],
      ...['JitterStrategy', 'ResultPath', 'OutputPath', 'SecondsPath', 'Error', 'ErrorPath', 'Cause', 'CausePath'],
    ]);

    expect(definition).not.toHaveProperty('QueryLanguage');
    for (const [id, value] of states) {
      expect(['Pass', 'Task', 'Choice', 'Wait', 'Succeed', 'Fail'], id).toContain(value.Type);
      const keys = [value, ...(value.Choices ?? []), ...(value.Retry ?? []), ...(value.Catch ?? [])].flatMap(
        Object.keys,
      );
      for (const key of keys) expect(known, `${id}.${key}`).toContain(key);
    }
  });

  test('reads only fields that every answer has, because an absent path ends a run uncaught on AWS', () => {
    const paths = states.filter(([id]) => id !== 'BeginRun').flatMap(([, value]) => pathsIn(value));

    expect([...new Set(paths)].sort()).toEqual(
      [
        '$',
        '$.Payload',
        '$.crash',
        '$.crash.Error',
        '$.changesCrash',
        '$.changesCrash.Error',
        '$.tableCrash',
        '$.tableCrash.Error',
        '$.failure.cause',
        '$.failure.error',
        // Choices test whether it is present.
        '$.input.release',
        '$.input.table',
        '$.outcome',
        '$.waitSeconds',
      ].sort(),
    );
  });

  test('times out half a day after the longest deadline of any entity', () => {
    const deployment = exampleDeployment({ entities: { meetings: { polling: { deadlineSeconds: 50_000 } } } });

    const { TimeoutSeconds } = definitionOf(synthesise(deployment));
    const usual = exportRun();

    expect(TimeoutSeconds).toBe(50_000 + 12 * 3600);
    const longest = ENTITIES.map((entity) => exampleDeployment().entities[entity].polling.deadlineSeconds);
    expect(usual.TimeoutSeconds).toBe(Math.max(...longest) + 12 * 3600);
  });
});

describe.each(steps)('the step %s', (id) => {
  const task = state(id);
  const choice = state(`After${id}`);

  test('has a branch for every outcome, and no other branch', () => {
    expect(task.Next).toBe(`After${id}`);
    expect(choice.Type).toBe('Choice');
    expect(choice.Choices?.every(({ Variable }) => Variable === '$.outcome')).toBe(true);
    expect(choice.Choices?.map(({ StringEquals }) => StringEquals).sort()).toEqual([...STEPS[id].outcomes].sort());
  });

  test('waits before itself on its waiting outcome', () => {
    const waiting = choice.Choices?.find(({ StringEquals }) => StringEquals === STEPS[id].waiting);
    const wait = state(waiting?.Next ?? '');

    expect(wait.Type).toBe('Wait');
    expect(wait.Next).toBe(id);
  });

  test('retries each platform error in one retrier, with a limit', () => {
    const names = task.Retry?.flatMap(({ ErrorEquals }) => ErrorEquals) ?? [];

    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^(Lambda|Sandbox|Runtime)\.[A-Za-z\d]+$/);
    for (const name of names) expect(Object.keys(ERRORS)).not.toContain(name);
    for (const { MaxAttempts } of task.Retry ?? []) expect(MaxAttempts).toBeGreaterThan(0);
  });

  test('waits for the platform as long as the comment in step-task.ts says', () => {
    const expected = [
      [15, 30, 60, 120, 240, 300, 300, 300, 300, 300],
      [2, 4, 8, 16, 32, 60],
      [5, 10],
    ];

    expect(task.Retry?.map(delaysOf)).toEqual(id === 'CreateExport' ? expected.slice(0, 1) : expected);
    expect(expected.map(sum)).toEqual([1965, 122, 15]);
  });
});

test('every run that has begun is recorded in its night', () => {
  const past = reachable(definition, ['BeginRun'], (id) => id !== 'RecordNight');

  expect(ENDS.filter((end) => past.has(end))).toEqual(['AlreadyStarted', 'NotDue']);
});

test.each(['StepCrashed', 'TableNotWritten', 'ChangesNotWritten'] as const)(
  'the advice of %s has no character that States.Format interprets',
  (name) => {
    expect(ERRORS[name].advice).not.toMatch(/['{}\\]/);
  },
);

describe('without tables', () => {
  const without = exportRun();

  test('no state is about tables, and TABLE_DUE leads to the end of a published run', () => {
    expect(Object.keys(without.States).filter((id) => id.includes('Table'))).toEqual([]);
    const due = without.States.AfterPublishFile?.Choices?.find(({ StringEquals }) => StringEquals === 'TABLE_DUE');
    expect(due?.Next).toBe('RecordNight');
    expect(without.States.AfterBeginRun?.Choices).toHaveLength(1);
  });

  test('every other state is the same', () => {
    const shared = Object.keys(without.States).filter(
      (id) => !['AfterPublishFile', 'AfterBeginRun', 'AfterRecordNight'].includes(id),
    );

    for (const id of shared) expect(without.States[id], id).toEqual(definition.States[id]);
  });
});

function successorsOf(id: string): string[] {
  const choice = state(`After${id}`);
  return [...(choice.Choices ?? []).map(({ Next }) => Next), ...(choice.Default ? [choice.Default] : [])];
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
