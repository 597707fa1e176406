import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LAYOUT } from '../../../core/export/layout.ts';
import { manifestSchema } from '../../../core/export/manifest.ts';
import { type Pointer, pointerSchema } from '../../../core/export/pointer.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { EXPORT_ID, run, runState, storedFile } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { mortal } from '../../support/mortal.ts';
import { exportIdOf } from '../../support/published.ts';
import { runs } from '../../support/runs.ts';
import {
  BY_DATE,
  FILE_KEY,
  LATEST,
  MANIFEST_KEY,
  manifestIn,
  publish,
  SMALL_CSV,
  storedRun,
} from '../../support/stored-run.ts';

test('PUBLISHED returns the manifest key, and the manifest has every field of the run', async () => {
  const { bucket, state: stored } = storedRun();
  const state = { ...stored, run: run({ adopted: 'night-0', remarks: ['Columns changed.'] }) };

  const answer = await publish(bucket, state);

  expect(answer).toEqual({ outcome: 'PUBLISHED', manifestKey: MANIFEST_KEY, rows: 2, warningCount: 1 });
  expect(manifestSchema.parse(manifestIn(bucket))).toEqual({
    schemaVersion: LAYOUT,
    execution: 'night-1',
    startedAt: '2026-11-20T01:00:00.000Z',
    file: {
      ...storedFile({ bytes: state.file?.bytes, crc32: state.file?.crc32 }),
      format: 'csv',
      compression: null,
      dialect: { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' },
      rows: 2,
      header: ['id', 'name'],
      content: {
        ...CONTENT_NOT_READ,
        records: 3,
        width: 2,
        headed: true,
        ascii: false,
        excepted: 0,
        unlisted: 0,
        ending: { cells: 2, lineBreak: true },
      },
    },
    run: {
      entity: 'leads',
      date: '2026-11-20',
      exportId: EXPORT_ID,
      createdAt: '2026-11-20T01:00:05.000Z',
      adopted: 'night-0',
      request: { columns: ['id', 'name'] },
      listed: { others: ['phone', 'email'], labels: ['מזהה', 'שם', 'טלפון', null], types: null, complete: true },
      fingerprint: 'f'.repeat(64),
      plan: 'a'.repeat(64),
      kind: 'full',
      differs: [],
      excepted: [],
      drift: null,
      keptUntil: '2027-02-18',
      softwareVersion: '0.1.0',
    },
    state: 'published',
    guards: {
      checks: [
        { guard: 'empty', passed: true, measured: Buffer.byteLength(SMALL_CSV), bound: 1, detail: null },
        { guard: 'maxIrregularShare', passed: true, measured: 0, bound: 0.01, detail: null },
        ...['lastRecord', 'unknownHeader', 'repeatedHeader', 'otherHeader'].map((guard) => {
          return { guard, passed: true, measured: 0, bound: 0, detail: null };
        }),
        { guard: 'nulBlock', passed: true, measured: 0, bound: 7, detail: null },
        { guard: 'exportId', passed: true, measured: 0, bound: 0, detail: null },
      ],
      comparedWith: [],
      medianRows: null,
    },
    releasedBefore: [],
    checks: 3,
    unansweredCreates: 0,
    warnings: ['Columns changed.'],
  });
});

test('both pointers contain the manifest key and the date until which the run is kept', async () => {
  const { bucket, state } = storedRun();

  await publish(bucket, state);

  expect(bucket.text(BY_DATE)).toBe(bucket.text(LATEST));
  expect(pointerSchema.parse(JSON.parse(bucket.text(LATEST) ?? ''))).toEqual({
    schemaVersion: LAYOUT,
    entity: 'leads',
    date: '2026-11-20',
    startedAt: '2026-11-20T01:00:00.000Z',
    kind: 'full',
    released: false,
    newNormal: false,
    execution: 'night-1',
    manifestKey: MANIFEST_KEY,
    keptUntil: '2027-02-18',
  });
});

test('reads file, pointers and history, then writes manifest, pointer of the date and latest pointer in this order', async () => {
  const { bucket, state } = storedRun();

  await publish(bucket, state);

  expect(bucket.calls).toEqual([
    `stream ${FILE_KEY}`,
    `read ${BY_DATE}`,
    `read ${LATEST}`,
    'list published/entity=leads/date=',
    `putOnce ${MANIFEST_KEY}`,
    `putOnce ${BY_DATE}`,
    `putOnce ${LATEST}`,
  ]);
});

const publication = fc.record({
  date: fc.constantFrom('2026-11-18', '2026-11-19', '2026-11-20'),
  execution: fc.constantFrom('a', 'b', 'c'),
  diesAt: fc.integer({ min: 1, max: 16 }),
  after: fc.boolean(),
});

test('runs killed at any operation leave pointers that name whole runs and never move back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(publication, { minLength: 1, maxLength: 8 }), async (publications) => {
      const { bucket, state } = storedRun();
      const placeAt = (key: string) => {
        const {
          date = '',
          execution = '',
          manifestKey = '',
        } = JSON.parse(bucket.text(key) ?? '{}') as Partial<Pointer>;
        if (date) expect(JSON.parse(bucket.text(manifestKey) ?? '')).toMatchObject({ execution, run: { date } });
        return `${date} ${execution}`;
      };
      for (const { date, execution, diesAt, after } of publications) {
        const before = [BY_DATE, LATEST].map(placeAt);
        const prefix = `runs/entity=leads/run=${execution}-${date}/`;
        const mine = {
          ...state,
          execution: `${execution}-${date}`,
          run: run({ date, prefix, exportId: exportIdOf(date) }),
        };
        const dying = mortal({ bucket }, ['bucket'], diesAt, after);
        await publish(dying.bucket, mine).catch(() => undefined);

        for (const [index, key] of [BY_DATE, LATEST].entries())
          expect(placeAt(key) >= (before[index] ?? '')).toBe(true);
        if (dying.lived()) expect(placeAt(LATEST) >= `${date} ${mine.execution}`).toBe(true);
      }
    }),
    { numRuns: runs(200) },
  );
});

test('writes the same manifest bytes for the same input at any time', async () => {
  const first = storedRun();
  const second = storedRun();

  await publish(first.bucket, first.state);
  await publish(second.bucket, second.state, { now: at('2027-01-01T00:00:00Z'), random: () => 0.9 });
  await publish(second.bucket, second.state, { now: at('2027-01-02T00:00:00Z') });

  expect(second.bucket.text(MANIFEST_KEY)).toBe(first.bucket.text(MANIFEST_KEY));
});

test.each([BY_DATE, LATEST])('ends in StorageConflict if %s is not a pointer, and writes nothing', async (key) => {
  const { bucket, state } = storedRun();
  bucket.put(key, '{"moved":"by hand"}');

  const error = await failureOf(publish(bucket, state), 'StorageConflict');

  expect(error.message).toContain(key);
  expect(bucket.keys()).toEqual([key, FILE_KEY].sort());
});

describe.each([
  ['plain', SMALL_CSV],
  ['gzip', gzipSync(SMALL_CSV)],
])('a stored file (%s)', (_, content) => {
  test('ends the run in StorageConflict if its bytes differ from the received ones', async () => {
    const { bucket, state } = storedRun(content);
    const others = Buffer.from(content);
    others[5] = (others[5] ?? 0) ^ 1;
    bucket.put(FILE_KEY, others);

    await failureOf(publish(bucket, state), 'StorageConflict');

    expect(bucket.keys()).toEqual([FILE_KEY]);
  });

  test('ends the run in CheckUnfinished if one invocation has too little time', async () => {
    const { bucket, state } = storedRun(content);

    const error = await failureOf(publish(bucket, state, { secondsLeft: () => 1 }), 'CheckUnfinished');

    expect(error.message).toContain(FILE_KEY);
  });
});

test('warns in the manifest of a lost answer to the create request, and of restarts of the download', async () => {
  const { bucket, state } = storedRun(SMALL_CSV, { restarts: 2 });

  await publish(bucket, { ...state, unansweredCreates: 1 });

  const warnings = [expect.stringContaining('further export'), expect.stringContaining('restarted 2 times')];
  expect(manifestIn(bucket)).toMatchObject({ unansweredCreates: 1, file: { restarts: 2 }, warnings });
});

test('throws if the state has no file', async () => {
  await expect(publish(fakeBucket(), runState())).rejects.toThrow('DownloadFile');
});
