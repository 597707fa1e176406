import { describe, expect, test } from 'vitest';
import { type BatchState, chunkSchema } from '../../../core/batch/batch-state.ts';
import { LARGEST_INPUT_BYTES } from '../../../core/batch/batch-store.ts';
import { RunError } from '../../../core/errors.ts';
import { validateBatch } from '../../../lambdas/validate-batch/validate-batch.ts';
import { batchState, etagOf, idOf, inputOf, KEYS } from '../../support/batches.ts';
import { CANARY, deployment } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { expectMessages, expectTexts } from '../../support/screen.ts';

const FILE = { file: KEYS.input };

function world(input?: string, options: Parameters<typeof fakeBucket>[0] = {}) {
  const store = fakeBucket({ ...options, objects: input === undefined ? {} : { [KEYS.input]: input } });
  const validate = (given: unknown = FILE, state: Partial<BatchState> = {}) =>
    validateBatch(batchState({ input: given, ...state }), {
      ...testDeps({ deployment: deployment({ customerUpdates: true }) }),
      store,
      softwareVersion: '1.2.3',
    });
  return { store, validate };
}

test('claims a valid file and cuts it into chunks that cover it', async () => {
  const input = inputOf(250);
  const { store, validate } = world(input);

  const ignored = { Comment: 'as agreed', AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: 'arn:aws:states:x' };
  const answer = await validate({ ...FILE, maxRate: 10, stopAfterFailures: 7, ...ignored });

  expect(answer).toMatchObject({
    outcome: 'VALIDATED',
    batch: {
      batch: 'b1',
      etag: etagOf(input),
      records: 250,
      chunks: 3,
      chunksKey: KEYS.chunks,
      maxRate: 10,
      stopAfterFailures: 7,
      keptUntil: '2026-12-20',
      softwareVersion: '1.2.3',
      warnings: [],
    },
  });
  const index = (store.text(KEYS.chunks) ?? '').trimEnd().split('\n');
  const chunks = index.map((line) => chunkSchema.parse(JSON.parse(line)));
  expect(chunks.flatMap(({ from, to }) => [from, to])).toEqual(expect.arrayContaining([0, input.length]));
  expect(store.keys()).toEqual([KEYS.started, KEYS.chunks, KEYS.input].sort());
  expect(JSON.stringify(answer)).not.toContain(CANARY);
  expect(JSON.stringify(answer).length).toBeLessThan(1500);
});

test.each([
  [100, 20],
  [250, 20 / 3],
  [2000, 20 / 8],
])('splits the rate of %i records among their chunks: %d per second each', async (records, chunkRate) => {
  const { validate } = world(inputOf(records));

  expect((await validate()).batch?.chunkRate).toBeCloseTo(chunkRate);
});

test('warns of a deprecated field with its name and count', async () => {
  const line = JSON.stringify({ id: idOf(1), customFields: { present: true } });
  const { validate } = world(`${line}\n`);

  const { batch } = await validate();
  await expectTexts('batch-warnings', [['a deprecated field', batch?.warnings.join('\n') ?? '']]);
});

test('refuses an input with InvalidInput, which names the mistake', async () => {
  const refused: [what: string, input: unknown][] = [
    ['an empty object', {}],
    ['a list', [FILE]],
    ['a text', KEYS.input],
    ['null', null],
    ['another folder', { file: 'runs/b1/input.jsonl' }],
    ['another name', { file: 'updates/b1/chunks.jsonl' }],
    ['a path traversal', { file: 'updates/../b1/input.jsonl' }],
    ['a name of 61 letters', { file: `updates/${'x'.repeat(61)}/input.jsonl` }],
    ['a rate of zero', { ...FILE, maxRate: 0 }],
    ['a rate above the configured one', { ...FILE, maxRate: 20.5 }],
    ['zero failures', { ...FILE, stopAfterFailures: 0 }],
    ['a misspelt key', { ...FILE, maxrate: 1 }],
    ['a secret as a key', { ...FILE, [`${CANARY} x`]: 1 }],
    ['a file that does not exist', { file: 'updates/b2/input.jsonl' }],
  ];
  const told = refused.map(async ([what, input]) => {
    const { store, validate } = world(inputOf(1));
    const { message, failure } = await failureOf(validate(input), 'InvalidInput');
    expect(failure.cause).toContain('{"file":"updates/BATCH/input.jsonl"}');
    expect(store.keys(), what).toEqual([KEYS.input]);
    return [what, message] as const;
  });
  await expectMessages('batch-input-refusals', await Promise.all(told));
});

describe('refuses a file with UpdateFileInvalid, and stores nothing', () => {
  test('which names the first problem and quotes no value', async () => {
    const good = inputOf(2);
    const refused: [what: string, input: string][] = [
      ['an empty file', ''],
      ['blank lines only', '\n\n'],
      ['a wrong value', `${good}{"id":"${idOf(3)}","smoker":"${CANARY}"}\n`],
      ['an unknown field', `{"id":"${idOf(3)}","${CANARY}":1}\n`],
      ['a line without an id', `${good}{"city":"${CANARY}"}\n`],
      ['a line that is not JSON', `${good}${CANARY}\n`],
      ['an id twice', `${good}${good}`],
      ['CSV', `id,city\n${idOf(1)},${CANARY}\n`],
    ];
    const told = refused.map(async ([what, input]) => {
      const { store, validate } = world(input);
      const { message } = await failureOf(validate(), 'UpdateFileInvalid');
      expect(store.keys(), what).toEqual([KEYS.input]);
      return [what, message] as const;
    });
    await expectMessages('batch-file-refusals', await Promise.all(told));
  });

  test('a file larger than one invocation can validate', async () => {
    const { store } = world(inputOf(1));
    const huge = {
      ...store,
      stream: async () => ({ bytes: LARGEST_INPUT_BYTES + 1, etag: '"x"', chunks: (async function* () {})() }),
    };
    const deps = { ...testDeps(), store: huge, softwareVersion: '1' };

    const error = await failureOf(validateBatch(batchState({ input: FILE }), deps), 'UpdateFileInvalid');

    await expectTexts('batch-too-large', [['a file above the limit', error.message]]);
  });

  test('a file that takes longer at its rate than a batch may', async () => {
    const { validate } = world(inputOf(20_000));

    const error = await failureOf(validate({ ...FILE, maxRate: 0.1 }), 'UpdateFileInvalid');

    await expectTexts('batch-too-slow', [['a file that takes too long at its rate', error.message]]);
  });
});

describe('the claim', () => {
  test('is kept if its execution repeats the step, with the same bytes', async () => {
    const { store, validate } = world(inputOf(3));
    await validate();
    const before = [store.text(KEYS.started), store.text(KEYS.chunks)];

    expect(await validate()).toMatchObject({ outcome: 'VALIDATED' });
    expect([store.text(KEYS.started), store.text(KEYS.chunks)]).toEqual(before);
  });

  test('ends any other execution in UpdateAlreadyStarted, also if it cannot be read', async () => {
    const { store, validate } = world(inputOf(3));
    await validate();

    const { message } = await failureOf(validate(FILE, { execution: 'other' }), 'UpdateAlreadyStarted');
    await failureOf(validate(FILE, { startedAt: '2026-11-21T01:00:00Z' }), 'UpdateAlreadyStarted');
    store.put(KEYS.started, 'not json');
    const unreadable = await failureOf(validate(), 'UpdateAlreadyStarted');

    await expectMessages('batch-claimed', [
      ['another execution', message],
      ['an unreadable claim', unreadable.message],
    ]);
  });

  test('ends in StorageConflict if the file was changed in between', async () => {
    const { store, validate } = world(inputOf(3));
    await validate();
    store.put(KEYS.input, inputOf(4));

    await failureOf(validate(), 'StorageConflict');
  });
});

test('ends in StorageConflict for another index, and passes StorageUnavailable to the wrapper', async () => {
  const { store, validate } = world(inputOf(1));
  store.put(KEYS.chunks, 'other');
  await failureOf(validate(), 'StorageConflict');

  const down = new RunError('StorageUnavailable', 'Down.');
  const troubled = world(inputOf(1), { before: failing('putOnce', '_started', down) });
  await failureOf(troubled.validate(), 'StorageUnavailable');
});
