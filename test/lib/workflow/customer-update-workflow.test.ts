import { join } from 'node:path';
import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { chunkSchema } from '../../../core/batch/batch-state.ts';
import { UPDATE_STEPS, type UpdateStepName } from '../../../core/step/steps.ts';
import { updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { type Definition, definitionOf } from '../../../scripts/template.ts';
import { pathsIn, reachable, stateOf } from '../support/definition.ts';
import { delaysOf, eventsOf, execute, type Invoke, MOST_EVENTS } from '../support/interpreter.ts';
import { PlatformError } from '../support/steps.ts';

const SCREEN = join(import.meta.dirname, '../../screens/customer-updates.asl.txt');
const definition = definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
const map = stateOf(definition, 'ApplyChunks');
if (!map.ItemProcessor) throw new Error('the map has no children');
const child: Definition = map.ItemProcessor;
const levels: [name: string, level: Definition][] = [
  ['the machine of the batch', definition],
  ['the machine of a chunk', child],
];
/** The largest possible chunk number. */
const MOST_CHUNKS = chunkSchema.shape.chunk.maxValue ?? Number.NaN;
const levelOf = (step: UpdateStepName) => (step === 'ApplyChunk' ? child : definition);

test('the definition equals the stored one', async () => {
  await expect(`${JSON.stringify(definition, undefined, 2)}\n`).toMatchFileSnapshot(SCREEN);
});

test('the definition is accepted by the validator of the Amazon States Language', () => {
  const { isValid, errorsText } = validate(structuredClone(definition)); // the validator changes its argument

  expect(errorsText('\n')).toBe('');
  expect(isValid).toBe(true);
});

describe.each(levels)('%s', (_, level) => {
  const states = Object.entries(level.States);

  test('reaches every state from the start', () => {
    expect([...reachable(level, [level.StartAt])].sort()).toEqual(Object.keys(level.States).sort());
    for (const [id, value] of states) expect(value, id).not.toHaveProperty('End');
  });
});

test('the names of states are unique over both levels', () => {
  const names = levels.flatMap(([, level]) => Object.keys(level.States));

  expect(new Set(names).size).toBe(names.length);
});

describe.each(Object.keys(UPDATE_STEPS) as UpdateStepName[])('the step %s', (id) => {
  const level = levelOf(id);
  const choice = stateOf(level, `After${id}`);

  test('has a branch for every outcome, and waits before itself on its waiting outcome', () => {
    const next = Object.fromEntries(choice.Choices?.map(({ StringEquals, Next }) => [StringEquals, Next]) ?? []);

    expect(Object.keys(next).sort()).toEqual([...UPDATE_STEPS[id].outcomes].sort());
    expect(stateOf(level, next[UPDATE_STEPS[id].waiting] ?? '')).toMatchObject({ Type: 'Wait', Next: id });
  });
});

test('a throttled chunk waits two hours, and its retries are too far apart to fill the history', () => {
  const delays = (stateOf(child, 'ApplyChunk').Retry ?? []).map(delaysOf);

  expect(delays).toEqual([
    [120, 240, ...Array<number>(23).fill(300)],
    [120, 240, 300, 300, 300],
    [120, 240],
  ]);
  expect(delays[0]?.reduce((sum, delay) => sum + delay)).toBe(7260);
});

describe('the map', () => {
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

    const outputs = await Promise.all(ends.map((end) => execute(childWith(state), end)));

    expect(map.ResultPath).toBeNull();
    expect(outputs.map(({ status }) => status)).toEqual(ends.map(() => 'SUCCEEDED'));
    for (const { output, trail } of outputs) {
      expect(output, trail.at(-1)).toMatchObject({ chunk: MOST_CHUNKS });
      expect(JSON.stringify(output).length * MOST_CHUNKS).toBeLessThan(64 * 1024);
    }
  });

  test('gives each child the fields that it reads', () => {
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

  test('writes fewer than 1,000 entries into the history of the batch for any number of chunks', () => {
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
