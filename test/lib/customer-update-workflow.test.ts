import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../lambdas/shared/errors.ts';
import { UPDATE_STEPS, type UpdateStepName } from '../../lambdas/shared/steps.ts';
import { chunkSchema } from '../../lambdas/shared/updates/chunk-index.ts';
import { type Definition, definitionOf, synthesise, updatingDeployment } from '../../scripts/definition.ts';
import { pathsIn, reachable, stateOf, statesOfType } from './support/definition.ts';
import { eventsOf, MOST_EVENTS } from './support/interpreter.ts';

const definition = definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
const map = stateOf(definition, 'ApplyChunks');
if (!map.ItemProcessor) throw new Error('the map has no children');
const child: Definition = map.ItemProcessor;
const levels: [name: string, level: Definition][] = [
  ['the batch', definition],
  ['its child', child],
];
/** The largest number that a chunk can have. */
const MOST_CHUNKS = chunkSchema.shape.chunk.maxValue ?? Number.NaN;
const levelOf = (step: UpdateStepName) => (step === 'ApplyChunk' ? child : definition);

/** The picture in README.md: where each outcome of each step leads. */
const ARROWS: Record<UpdateStepName, Record<string, string>> = {
  ValidateBatch: { VALIDATED: 'ApplyChunks', CONTINUE: 'WaitBeforeValidate', FAILED: 'BatchFailed' },
  ApplyChunk: { FINISHED: 'AnswerChunk', CONTINUE: 'WaitBeforeApply', FAILED: 'ChunkFailed' },
  SummarizeBatch: { SUMMARIZED: 'BatchApplied', CONTINUE: 'WaitBeforeSummarize', FAILED: 'BatchFailed' },
};

test('the validator of the Amazon States Language accepts it', () => {
  const { isValid, errorsText } = validate(structuredClone(definition)); // it writes into what it is given

  expect(errorsText('\n')).toBe('');
  expect(isValid).toBe(true);
});

describe.each(levels)('%s', (_, level) => {
  const states = Object.entries(level.States);

  test('has a comment on every state', () => {
    for (const [id, { Comment }] of states) expect(Comment, id).toMatch(/\w{3}/);
  });

  test('reaches every state from the start, and ends in one success and three failures', () => {
    expect([...reachable(level, [level.StartAt])].sort()).toEqual(Object.keys(level.States).sort());
    expect(statesOfType(level, 'Succeed')).toHaveLength(1);
    expect(statesOfType(level, 'Fail')).toHaveLength(3);
    for (const [id, value] of states) expect(value, id).not.toHaveProperty('End');
  });

  test('waits as long as the step before said', () => {
    for (const id of statesOfType(level, 'Wait')) expect(stateOf(level, id).SecondsPath).toBe('$.waitSeconds');
  });
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
    expect(stateOf(level, crashed)).toMatchObject({
      Error: 'StepCrashed',
      CausePath: expect.stringMatching('crash.Error'),
    });
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
    expect(map.Catch).toEqual([{ ErrorEquals: ['States.ALL'], ResultPath: '$.crash', Next: 'SummarizeBatch' }]);
  });

  test('discards the answers, which stay far below 256 KB before that: AWS counts them all the same', () => {
    const answer = (chunk: number) => JSON.stringify({ chunk });

    expect(map.ResultPath).toBeNull();
    expect(stateOf(child, 'AnswerChunk').Parameters).toEqual({ 'chunk.$': '$.chunk.chunk' });
    expect(answer(MOST_CHUNKS).length).toBeLessThanOrEqual(100);
    const all = Array.from({ length: MOST_CHUNKS }, (_, index) => answer(index + 1));
    expect(JSON.stringify(all).length).toBeLessThan(256 * 1024);
    // What a child fails with does not count: it is no answer.
    expect(MOST_CHUNKS * 100).toBeLessThan(256 * 1024);
  });

  test('gives its children what every one of them reads', () => {
    expect(Object.keys(map.ItemSelector ?? {}).sort()).toEqual([
      'batch.$',
      'chunk.$',
      'execution.$',
      'input',
      'startedAt.$',
    ]);
    expect([...new Set(pathsIn(child.States))].sort()).toEqual(
      [
        ...['$', '$.Payload', '$.chunk.chunk', '$.crash', '$.crash.Error', '$.failure.cause', '$.failure.error'],
        ...['$.outcome', '$.waitSeconds'],
      ].sort(),
    );
  });

  test('writes few entries into the history of the batch, however many chunks there are', () => {
    const entries = Object.values(definition.States).reduce((sum, state) => sum + eventsOf(state), 0);
    // A loop is a wait, a task and a choice; 46 of each of the two; and the map's own start and end.
    expect(entries + 2 * 46 * 9 + 4).toBeLessThan(1000);
    expect(1000).toBeLessThan(MOST_EVENTS);
  });
});
