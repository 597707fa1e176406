import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { chunkSchema } from '../../../core/batch/batch-state.ts';
import { ERRORS } from '../../../core/errors.ts';
import { UPDATE_STEPS, type UpdateStepName } from '../../../core/step/steps.ts';
import { updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { type Definition, definitionOf } from '../../../scripts/template.ts';
import { pathsIn, reachable, stateOf, statesOfType } from '../support/definition.ts';
import { delaysOf, eventsOf, execute, type Invoke, MOST_EVENTS } from '../support/interpreter.ts';
import { PlatformError } from '../support/steps.ts';

const definition = definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
const map = stateOf(definition, 'ApplyChunks');
if (!map.ItemProcessor) throw new Error('the map has no children');
const child: Definition = map.ItemProcessor;
const levels: [name: string, level: Definition][] = [
  ['the batch', definition],
  ['its child', child],
];
/** The largest possible chunk number. */
const MOST_CHUNKS = chunkSchema.shape.chunk.maxValue ?? Number.NaN;
const levelOf = (step: UpdateStepName) => (step === 'ApplyChunk' ? child : definition);

/** The diagram in docs/design/customer-updates.md: the next state for each outcome of each step. */
const ARROWS: Record<UpdateStepName, Record<string, string>> = {
  ValidateBatch: { VALIDATED: 'ApplyChunks', CONTINUE: 'WaitBeforeValidate', FAILED: 'BatchFailed' },
  ApplyChunk: { FINISHED: 'AnswerChunk', CONTINUE: 'WaitBeforeApply', FAILED: 'ChunkFailed' },
  SummarizeBatch: { SUMMARIZED: 'BatchApplied', CONTINUE: 'WaitBeforeSummarize', FAILED: 'BatchFailed' },
};

test('the validator of the Amazon States Language accepts it', () => {
  const { isValid, errorsText } = validate(structuredClone(definition)); // the validator changes its argument

  expect(errorsText('\n')).toBe('');
  expect(isValid).toBe(true);
});

describe.each(levels)('%s', (_, level) => {
  const states = Object.entries(level.States);

  test('has a comment on every state', () => {
    for (const [id, { Comment }] of states) expect(Comment, id).toMatch(/\w{3}/);
  });

  test('reaches every state from the start', () => {
    expect([...reachable(level, [level.StartAt])].sort()).toEqual(Object.keys(level.States).sort());
    for (const [id, value] of states) expect(value, id).not.toHaveProperty('End');
  });

  test('waits as long as the step before said', () => {
    for (const id of statesOfType(level, 'Wait')) expect(stateOf(level, id).SecondsPath).toBe('$.waitSeconds');
  });
});

test('the batch ends in one success and three failures', () => {
  expect(statesOfType(definition, 'Succeed')).toEqual(['BatchApplied']);
  expect(statesOfType(definition, 'Fail')).toHaveLength(3);
});

test('the names of states are unique in the whole machine', () => {
  const names = levels.flatMap(([, level]) => Object.keys(level.States));

  expect(new Set(names).size).toBe(names.length);
});

describe.each(Object.keys(UPDATE_STEPS) as UpdateStepName[])('the step %s', (id) => {
  const level = levelOf(id);
  const task = stateOf(level, id);
  const choice = stateOf(level, `After${id}`);

  test('is given the whole state and answers the whole state', () => {
    expect(task).toMatchObject({ Type: 'Task', Resource: 'arn:aws:states:::lambda:invoke', OutputPath: '$.Payload' });
    expect(task.Parameters?.['Payload.$']).toBe('$');
    expect(task.Parameters?.FunctionName).toMatch(new RegExp(`^${id}Live`));
  });

  test('has a branch for every outcome, each to where the picture says, and no branch for anything else', () => {
    expect(task.Next).toBe(`After${id}`);
    expect(choice.Choices?.every(({ Variable }) => Variable === '$.outcome')).toBe(true);
    expect(Object.fromEntries(choice.Choices?.map(({ StringEquals, Next }) => [StringEquals, Next]) ?? [])).toEqual(
      ARROWS[id],
    );
    expect(Object.keys(ARROWS[id]).sort()).toEqual([...UPDATE_STEPS[id].outcomes].sort());
    expect(choice.Default).toBe(id === 'ApplyChunk' ? 'ChunkOutcomeUnknown' : 'BatchOutcomeUnknown');
  });

  test('makes its waiting outcome wait before itself', () => {
    expect(stateOf(level, ARROWS[id][UPDATE_STEPS[id].waiting] ?? '')).toMatchObject({ Type: 'Wait', Next: id });
  });

  test('is invoked again when its runtime died, and ends as crashed on every other error', () => {
    const names = task.Retry?.flatMap(({ ErrorEquals }) => ErrorEquals) ?? [];
    expect(names).toEqual(expect.arrayContaining(['Sandbox.Timedout', 'Runtime.ExitError', 'Lambda.ServiceException']));
    for (const name of names) expect(Object.keys(ERRORS)).not.toContain(name);
    const crashed = id === 'ApplyChunk' ? 'ChunkCrashed' : 'BatchCrashed';
    expect(task.Catch).toEqual([{ ErrorEquals: ['States.ALL'], ResultPath: '$.crash', Next: crashed }]);
  });
});

test('a chunk waits two hours for its turn, and its retries come so late that they cannot fill a history', () => {
  const delays = (stateOf(child, 'ApplyChunk').Retry ?? []).map(delaysOf);

  expect(delays).toEqual([
    [120, 240, ...Array<number>(23).fill(300)],
    [120, 240, 300, 300, 300],
    [120, 240],
  ]);
  expect(delays[0]?.reduce((sum, delay) => sum + delay)).toBe(7260);
});

test('a step of the batch that crashed is named by its error, without its message', () => {
  expect(stateOf(definition, 'BatchCrashed')).toMatchObject({
    Error: 'StepCrashed',
    CausePath: expect.stringMatching('crash.Error'),
  });
});

describe('the map', () => {
  test('starts a child for each line of the index, as many at once as the configuration says', () => {
    expect(map).toMatchObject({
      Type: 'Map',
      Label: 'ApplyChunks',
      ItemReader: {
        Resource: 'arn:aws:states:::s3:getObject',
        ReaderConfig: { InputType: 'JSONL' },
        Parameters: { 'Key.$': '$.batch.chunksKey' },
      },
      ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' } },
      MaxConcurrency: 8,
    });
    const three = updatingDeployment({ updates: { concurrency: 3 } });
    expect(definitionOf(synthesise(three), 'CustomerUpdates').States.ApplyChunks?.MaxConcurrency).toBe(3);
  });

  test('goes on to the summary whatever its children did, and when it could not run at all', () => {
    expect(map.ToleratedFailurePercentage).toBe(100);
    expect(map.Next).toBe('SummarizeBatch');
    expect(map.Catch?.map(({ Next, ResultPath }) => [Next, ResultPath])).toEqual([
      ['SummarizeBatch', '$.crash'],
      ['SummarizeBatch', '$.crash'],
    ]);
  });

  test('names an output that is too large in a catcher of its own: by the document of AWS, States.ALL leaves it', () => {
    expect(map.Catch?.map(({ ErrorEquals }) => ErrorEquals)).toEqual([['States.DataLimitExceeded'], ['States.ALL']]);
  });

  test('discards the answers, which stay far below 256 KB before that: AWS counts them all the same', async () => {
    const state = { chunk: { chunk: MOST_CHUNKS } };
    const longest = 'x'.repeat(250);
    const ends: Invoke[] = [
      async () => ({ ...state, outcome: 'FINISHED' }),
      async () => ({ ...state, outcome: 'FAILED', failure: { error: longest, cause: longest } }),
      async () => ({ ...state, outcome: longest }),
      () => Promise.reject(new PlatformError(longest)),
    ];

    const outputs = await Promise.all(ends.map((end) => execute(childWith(state), end)));

    expect(map.ResultPath).toBeNull();
    expect(outputs.map(({ status }) => status)).toEqual(ends.map(() => 'SUCCEEDED'));
    for (const { output, trail } of outputs) {
      expect(output, trail.at(-1)).toMatchObject({ chunk: MOST_CHUNKS });
      expect(JSON.stringify(output).length * MOST_CHUNKS).toBeLessThan(64 * 1024);
    }
  });

  test('lets no child fail: AWS would keep the whole record of it, of which 180 overflow its output', () => {
    expect(statesOfType(child, 'Fail')).toEqual([]);
    expect(statesOfType(child, 'Succeed').sort()).toEqual(['ChunkFinished', 'ChunkUnfinished']);
  });

  test('gives its children what every one of them reads', () => {
    expect(Object.keys(map.ItemSelector ?? {}).sort()).toEqual([
      'batch.$',
      'chunk.$',
      'execution.$',
      'input',
      'machineVersion.$',
      'startedAt.$',
    ]);
    expect([...new Set(pathsIn(child.States))].sort()).toEqual(
      [...['$', '$.Payload', '$.chunk.chunk', '$.crash', '$.outcome', '$.waitSeconds']].sort(),
    );
  });

  test('writes few entries into the history of the batch, however many chunks there are', () => {
    const entries = Object.values(definition.States).reduce((sum, state) => sum + eventsOf(state), 0);
    // A loop is a wait, a task and a choice: 46 loops of each kind, and the map's own start and end.
    expect(entries + 2 * 46 * 9 + 4).toBeLessThan(1000);
    expect(1000).toBeLessThan(MOST_EVENTS);
  });
});

/** The child machine, started with the state that the map selects for it. */
function childWith(state: Record<string, unknown>): Definition {
  const States = { Given: { Type: 'Pass', Parameters: state, Next: child.StartAt } as const, ...child.States };
  return { ...child, StartAt: 'Given', States };
}
