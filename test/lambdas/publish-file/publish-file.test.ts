import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import { type Manifest, manifestSchema } from '../../../core/export/manifest.ts';
import { type Pointer, pointerSchema } from '../../../core/export/pointer.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { deployment, EXPORT_ID, run, runState } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { type FakeBucket, failing, fakeBucket } from '../../support/fake-bucket.ts';
import { exportIdOf } from '../../support/published.ts';
import { runs } from '../../support/runs.ts';
import { FILE_KEY, MANIFEST_KEY, publish, SMALL_CSV, storedRun } from '../../support/stored-run.ts';
import { zipOfFiles } from '../../support/zip.ts';

const BY_DATE = 'published/entity=leads/date=2026-11-20.json';
const LATEST = 'published/entity=leads/latest.json';

const manifestIn = (bucket: FakeBucket) => JSON.parse(bucket.text(MANIFEST_KEY) ?? 'null') as Manifest;

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
      key: FILE_KEY,
      bytes: state.file?.bytes,
      crc32: state.file?.crc32,
      contentType: 'text/csv',
      storedAt: '2026-11-20T01:10:00.000Z',
      restarts: 0,
      undeclaredEnd: false,
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

test('a failure at any operation leaves pointers that name whole runs, and a repetition publishes the same bytes', async () => {
  const whole = storedRun();
  await publish(whole.bucket, whole.state);

  for (let failure = 0; failure < whole.bucket.calls.length; failure += 1) {
    let operation = 0;
    let down = true;
    const { bucket, state } = storedRun(SMALL_CSV, {
      before: () => {
        operation += 1;
        if (down && operation > failure) throw new RunError('StorageUnavailable', 'Down.');
      },
    });

    await failureOf(publish(bucket, state), 'StorageUnavailable');
    for (const pointer of [BY_DATE, LATEST].filter((key) => bucket.keys().includes(key))) {
      expect(JSON.parse(bucket.text(pointer) ?? '')).toMatchObject({ manifestKey: MANIFEST_KEY });
      expect(bucket.text(MANIFEST_KEY)).toBe(whole.bucket.text(MANIFEST_KEY));
    }

    down = false;
    await publish(bucket, state);
    expect(bucket.keys()).toEqual(whole.bucket.keys());
    for (const key of bucket.keys()) expect(bucket.text(key)).toBe(whole.bucket.text(key));
  }
});

/** Dies at its nth write: before it, or after it took effect without an answer. */
function dying(bucket: FakeBucket, write: number, after: boolean): FakeBucket {
  let writes = 0;
  const duringWork = async (work: () => Promise<boolean>) => {
    writes += 1;
    if (writes === write && !after) throw new Error('killed');
    const done = await work();
    if (writes === write) throw new Error('killed');
    return done;
  };
  return {
    ...bucket,
    putOnce: (key, body) => duringWork(() => bucket.putOnce(key, body)),
    replace: (key, body, etag) => duringWork(() => bucket.replace(key, body, etag)),
  };
}

const publication = fc.record({
  date: fc.constantFrom('2026-11-18', '2026-11-19', '2026-11-20'),
  execution: fc.constantFrom('a', 'b', 'c'),
  diesAt: fc.integer({ min: 1, max: 4 }),
  after: fc.boolean(),
});

test('runs killed at any write leave pointers that name whole runs and never move back', async () => {
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
        await publish(dying(bucket, diesAt, after), mine).catch(() => undefined);

        for (const [index, key] of [BY_DATE, LATEST].entries())
          expect(placeAt(key) >= (before[index] ?? '')).toBe(true);
        if (diesAt > 3) expect(placeAt(LATEST) >= `${date} ${mine.execution}`).toBe(true);
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

test('completes a step that died after the manifest, even if the next release words warnings differently', async () => {
  const { bucket, state } = storedRun(SMALL_CSV, {
    restarts: 1,
    before: failing('putOnce', BY_DATE, new RunError('StorageUnavailable', 'Down.')),
  });
  await failureOf(publish(bucket, state), 'StorageUnavailable');
  const standing = JSON.stringify({
    ...manifestIn(bucket),
    warnings: ['In the words of then.'],
  });
  bucket.put(MANIFEST_KEY, standing);

  expect(await publish(bucket, state)).toMatchObject({ outcome: 'PUBLISHED' });

  expect(bucket.text(MANIFEST_KEY)).toBe(standing);
  expect(JSON.parse(bucket.text(LATEST) ?? '')).toMatchObject({ manifestKey: MANIFEST_KEY });
});

test('publishes an opaque file without row count and header, and warns', async () => {
  const { bucket, state } = storedRun(zipOfFiles({ name: 'a.csv', content: '"' }, { name: 'b.csv', content: 'x' }), {
    key: FILE_KEY.replace('csv', 'zip'),
  });
  const opaque = { deployment: deployment({ entities: { leads: { opaque: ['archive'] } } }) };

  expect(await publish(bucket, state, opaque)).toMatchObject({ outcome: 'PUBLISHED', rows: null });

  expect(manifestIn(bucket)).toMatchObject({
    file: { format: 'archive', rows: null, header: null, content: null },
    warnings: [expect.stringContaining('The content of the file was not read')],
  });
});

test('warns in the manifest of a lost answer to the create request, and of restarts of the download', async () => {
  const { bucket, state } = storedRun(SMALL_CSV, { restarts: 2 });

  await publish(bucket, { ...state, unansweredCreates: 1 });

  const warnings = [expect.stringContaining('further export'), expect.stringContaining('restarted 2 times')];
  expect(manifestIn(bucket)).toMatchObject({ unansweredCreates: 1, file: { restarts: 2 }, warnings });
});

test('a run of an earlier date moves the pointer of its date and leaves the latest pointer', async () => {
  const { bucket, state } = storedRun();
  await publish(bucket, state);
  const latest = bucket.text(LATEST);

  await publish(bucket, {
    ...state,
    execution: 'again',
    run: run({ date: '2026-11-19', prefix: 'runs/entity=leads/run=again/', exportId: exportIdOf('2026-11-19') }),
  });

  expect(bucket.text(LATEST)).toBe(latest);
  expect(bucket.text('published/entity=leads/date=2026-11-19.json')).toContain('run=again/');
});

test('throws if the state has no file', async () => {
  await expect(publish(fakeBucket(), runState())).rejects.toThrow('DownloadFile was skipped');
});
