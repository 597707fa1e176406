import { join } from 'node:path';
import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { chunkSchema } from '../../../core/batch/batch-state.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { ERRORS } from '../../../core/errors.ts';
import { STEPS, UPDATE_STEPS } from '../../../core/step/steps.ts';
import { exampleDeployment, feedDeployment, updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { type Definition, definitionOf } from '../../../scripts/template.ts';
import { exportRun, pathsIn, reachable, stateOf } from '../support/definition.ts';
import { eventsOf, execute, type Invoke, MOST_EVENTS, PlatformError } from '../support/interpreter.ts';

/** The definitions of both machines. docs/design/export-run.md has the next state for each outcome. */

const SCREENS = join(import.meta.dirname, '../../screens');
/** The definition with tables and feeds, which has every state. */
const run = definitionOf(synthesise(feedDeployment()));
const batch = definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
const map = stateOf(batch, 'ApplyChunks');
if (!map.ItemProcessor) throw new Error('the map has no children');
const child: Definition = map.ItemProcessor;
const levels: [name: string, level: Definition][] = [
  ['the machine of a run', run],
  ['the machine of a batch', batch],
  ['the machine of a chunk', child],
];

test.each([
  ['export-run', run],
  ['customer-updates', batch],
])('the definition of %s equals the stored one, and is valid Amazon States Language', async (name, definition) => {
  const { isValid, errorsText } = validate(structuredClone(definition)); // the validator changes its argument

  expect([errorsText('\n'), isValid]).toEqual(['', true]);
  const text = `${JSON.stringify(definition, undefined, 2)}\n`;
  await expect(text).toMatchFileSnapshot(join(SCREENS, `${name}.asl.txt`));
});

describe.each(levels)('%s', (_, { States, StartAt, ...level }) => {
  const definition = { States, StartAt, ...level };
  const ends = Object.keys(States).filter((id) => ['Succeed', 'Fail'].includes(States[id]?.Type ?? ''));

  test('reaches every state from the start, and an end from every state', () => {
    expect([...reachable(definition, [StartAt])].sort()).toEqual(Object.keys(States).sort());
    for (const [id, value] of Object.entries(States)) {
      expect(value, id).not.toHaveProperty('End');
      expect(
        [...reachable(definition, [id])].some((next) => ends.includes(next)),
        id,
      ).toBe(true);
    }
  });

  test('uses only fields that AWS and every local engine interpret alike', () => {
    const known = new Set([
      ...['Type', 'Comment', 'Next', 'Default', 'Choices', 'Variable', 'StringEquals', 'IsPresent'],
      ...['Resource', 'Parameters', 'Result'],
      ...['Retry', 'Catch', 'ErrorEquals', 'IntervalSeconds', 'MaxAttempts', 'BackoffRate', 'MaxDelaySeconds'],
      ...['JitterStrategy', 'ResultPath', 'OutputPath', 'SecondsPath', 'Error', 'ErrorPath', 'Cause', 'CausePath'],
    ]);
    expect(level).not.toHaveProperty('QueryLanguage');
    for (const [id, value] of Object.entries(States).filter(([id]) => id !== 'ApplyChunks')) {
      const parts = [value, ...(value.Choices ?? []), ...(value.Retry ?? []), ...(value.Catch ?? [])];
      expect([...known], id).toEqual(expect.arrayContaining(parts.flatMap(Object.keys)));
    }
  });
});

test('the names of states are unique over both levels of a batch', () => {
  const names = [batch, child].flatMap(({ States }) => Object.keys(States));

  expect(new Set(names).size).toBe(names.length);
});

describe.each(Object.entries({ ...STEPS, ...UPDATE_STEPS }))('the step %s', (id, { outcomes, waiting }) => {
  const level = id in STEPS ? run : id === 'ApplyChunk' ? child : batch;
  const task = stateOf(level, id);
  const choice = stateOf(level, `After${id}`);

  test('has a branch for every outcome, no other branch, and waits before itself on its waiting outcome', () => {
    const next = Object.fromEntries(choice.Choices?.map(({ StringEquals, Next }) => [StringEquals, Next]) ?? []);

    expect([task.Next, choice.Type]).toEqual([`After${id}`, 'Choice']);
    expect(choice.Choices?.every(({ Variable }) => Variable === '$.outcome')).toBe(true);
    expect(Object.keys(next).sort()).toEqual([...outcomes].sort());
    expect(stateOf(level, next[waiting] ?? '')).toMatchObject({ Type: 'Wait', Next: id });
  });

  test('passes a wait in every loop', () => {
    const after = [...(choice.Choices ?? []).map(({ Next }) => Next), ...(choice.Default ? [choice.Default] : [])];

    expect(reachable(level, after, (state) => stateOf(level, state).Type !== 'Wait').has(id)).toBe(false);
  });

  test('retries each platform error in one retrier, and no error of ours', () => {
    const names = task.Retry?.flatMap(({ ErrorEquals }) => ErrorEquals) ?? [];

    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^(Lambda|Sandbox|Runtime)\.[A-Za-z\d]+$/);
    expect(Object.keys(ERRORS).filter((name) => names.includes(name))).toEqual([]);
  });
});

describe('a run', () => {
  test('is recorded in its night before it ends, once it has begun', () => {
    const ends = Object.keys(run.States).filter((id) => ['Succeed', 'Fail'].includes(run.States[id]?.Type ?? ''));
    const unrecorded = reachable(run, ['BeginRun'], (id) => id !== 'RecordNight');

    expect(ends.filter((end) => unrecorded.has(end)).sort()).toEqual(['AlreadyStarted', 'NotDue']);
  });

  test('reads only fields that every answer has, because an absent path ends a run uncaught on AWS', () => {
    const { BeginRun: _, ...others } = run.States;

    expect([...new Set(pathsIn(others))].sort()).toEqual(
      [
        ...['$', '$.Payload', '$.crash', '$.crash.Error', '$.changesCrash', '$.changesCrash.Error', '$.tableCrash'],
        ...['$.tableCrash.Error', '$.failure.cause', '$.failure.error', '$.outcome', '$.waitSeconds'],
        // Choices test whether it is present.
        ...['$.input.release', '$.input.table'],
      ].sort(),
    );
  });

  test('times out half a day after the longest deadline of any entity', () => {
    const deployment = exampleDeployment({ entities: { meetings: { polling: { deadlineSeconds: 50_000 } } } });
    const longest = ENTITIES.map((entity) => exampleDeployment().entities[entity].polling.deadlineSeconds);

    expect(definitionOf(synthesise(deployment)).TimeoutSeconds).toBe(50_000 + 12 * 3600);
    expect(exportRun().TimeoutSeconds).toBe(Math.max(...longest) + 12 * 3600);
  });

  test('has causes that States.Format does not interpret', () => {
    for (const name of ['StepCrashed', 'TableNotWritten', 'ChangesNotWritten'] as const)
      expect(ERRORS[name].advice).not.toMatch(/['{}\\]/);
  });

  test('without tables ends where it would write one, as after the deployment of a release with tables', () => {
    const choices = exportRun().States.AfterPublishFile?.Choices;

    expect(choices?.find(({ StringEquals }) => StringEquals === 'TABLE_DUE')?.Next).toBe('RecordNight');
  });
});

describe('the map of a batch', () => {
  const MOST_CHUNKS = chunkSchema.shape.chunk.maxValue ?? Number.NaN;

  test('starts the configured number of children at once', () => {
    const three = updatingDeployment({ updates: { concurrency: 3 } });
    expect(definitionOf(synthesise(three), 'CustomerUpdates').States.ApplyChunks?.MaxConcurrency).toBe(3);
  });

  test('discards the answers, which stay far below the 256 KB that AWS allows', async () => {
    const state = { chunk: { chunk: MOST_CHUNKS } };
    const longest = 'x'.repeat(250);
    const ends: Invoke[] = [
      async () => ({ ...state, outcome: 'FINISHED' }),
      async () => ({ ...state, outcome: 'FAILED', failure: { error: longest, cause: longest } }),
      async () => ({ ...state, outcome: longest }),
      () => Promise.reject(new PlatformError(longest)),
    ];
    // The child machine, started with the state that the map selects for it.
    const Given = { Type: 'Pass', Parameters: state, Next: child.StartAt } as const;
    const given: Definition = { ...child, StartAt: 'Given', States: { Given, ...child.States } };

    const outputs = await Promise.all(ends.map((end) => execute(given, end)));

    expect(map.ResultPath).toBeNull();
    for (const { status, output, trail } of outputs) {
      expect([status, output], trail.at(-1)).toMatchObject(['SUCCEEDED', { chunk: MOST_CHUNKS }]);
      expect(JSON.stringify(output).length * MOST_CHUNKS).toBeLessThan(64 * 1024);
    }
  });

  test('gives each child the fields that it reads', () => {
    expect(Object.keys(map.ItemSelector ?? {}).sort()).toEqual(
      ['batch.$', 'chunk.$', 'execution.$', 'input', 'machineVersion.$', 'startedAt.$'], // sorted
    );
    expect([...new Set(pathsIn(child.States))].sort()).toEqual(
      ['$', '$.Payload', '$.chunk.chunk', '$.crash', '$.outcome', '$.waitSeconds'].sort(),
    );
  });

  test('writes fewer than 1,000 entries into the history of the batch for any number of chunks', () => {
    const entries = Object.values(batch.States).reduce((sum, state) => sum + eventsOf(state), 0);
    // A loop is a wait, a task and a choice: 46 loops of each kind, and the map's own start and end.
    expect(entries + 2 * 46 * 9 + 4).toBeLessThan(Math.min(1000, MOST_EVENTS));
  });
});
