import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import type { Pointer } from '../../../core/export/pointer.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { deployment, newState } from '../../support/builders.ts';
import { composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import type { FakeBucket } from '../../support/fake-bucket.ts';
import { stoppedBy } from '../../support/manifests.ts';
import { mortal } from '../../support/mortal.ts';
import { putHundreds, putPublished } from '../../support/published.ts';
import { expectMessages, expectTexts } from '../../support/screen.ts';
import { BY_DATE, FILE_KEY, LATEST, MANIFEST_KEY, manifestIn, publish, storedRun } from '../../support/stored-run.ts';

const RELEASE_KEY = 'runs/entity=leads/run=night-1/_release.json';

const ASKED = { entity: 'leads', release: 'night-1', reason: 'The office in Haifa was closed.', by: 'dana@desk' };
const releaseState = (input: object = {}, overrides: Partial<RunState> = {}) =>
  newState({ ...ASKED, ...input }, { execution: 'release-1', startedAt: '2026-11-20T07:00:00.000Z', ...overrides });

/** Leads of three rows, quarantined because each earlier night had a hundred. */
async function quarantined(options: Parameters<typeof storedRun>[1] = {}) {
  const { bucket, state } = storedRun('id,name\n1,a\n2,b\n3,c\n', options);
  putHundreds(bucket);
  await failureOf(publish(bucket, state), 'FileQuarantined');
  return { bucket, state };
}
const json = <T>(bucket: FakeBucket, key: string) => JSON.parse(bucket.text(key) ?? 'null') as T;
const everything = (bucket: FakeBucket) => Object.fromEntries(bucket.keys().map((key) => [key, bucket.text(key)]));

test('a release verifies the stored bytes, records who asked and why, then moves both pointers', async () => {
  const { bucket } = await quarantined();
  const before = bucket.calls.length;
  const manifest = bucket.text(MANIFEST_KEY);

  const answer = await publish(bucket, releaseState());

  expect(answer).toMatchObject({
    outcome: 'PUBLISHED',
    manifestKey: MANIFEST_KEY,
    rows: 3,
    released: { run: 'night-1', date: '2026-11-20', kind: 'full', latest: true },
  });
  expect(json(bucket, RELEASE_KEY)).toEqual({
    schemaVersion: LAYOUT,
    entity: 'leads',
    run: 'night-1',
    execution: 'release-1',
    requestedAt: '2026-11-20T07:00:00.000Z',
    reason: ASKED.reason,
    by: 'dana@desk',
    newNormal: false,
  });
  expect(json<Pointer>(bucket, LATEST)).toMatchObject({ execution: 'night-1', released: true });
  expect(bucket.text(BY_DATE)).toBe(bucket.text(LATEST));
  expect(bucket.text(MANIFEST_KEY)).toBe(manifest);
  const writes = bucket.calls.slice(before).filter((call) => /^(putOnce|replace|stream)/.test(call));
  expect([...new Set(writes)]).toEqual([
    `stream ${FILE_KEY}`,
    `putOnce ${RELEASE_KEY}`,
    `putOnce ${BY_DATE}`,
    `replace ${LATEST}`,
  ]);
});

test('a release is measured as PUBLISHED, without duration and status checks', async () => {
  const { bucket } = await quarantined();
  const deps = { ...testDeps(), bucket };

  const ended = await asStep('PublishFile', publishFile, ...composed(deps))(releaseState(), lambdaContext());

  expect(ended).toMatchObject({ outcome: 'PUBLISHED', file: { key: FILE_KEY } });
  expect(deps.log.measured).toEqual([
    {
      run: expect.objectContaining({ entity: 'leads', execution: 'release-1' }),
      values: { RunsEnded: 1, FileBytes: 20, FileRows: 3 },
      outcome: 'PUBLISHED',
    },
  ]);
});

test('a release killed at any operation ends the same way when it is repeated', async () => {
  const whole = await quarantined();
  const before = whole.bucket.calls.length;
  await publish(whole.bucket, releaseState());
  const calls = whole.bucket.calls.length - before;

  for (let killedAt = 1; killedAt <= calls; killedAt += 1)
    for (const behind of [false, true]) {
      const { bucket } = await quarantined();
      const dying = mortal({ bucket }, ['bucket'], killedAt, behind);
      await expect(publish(dying.bucket, releaseState())).rejects.toThrow('killed');

      expect(await publish(bucket, releaseState())).toMatchObject({ outcome: 'PUBLISHED' });
      expect(everything(bucket)).toEqual(everything(whole.bucket));
    }
});

test('equal releases all succeed, also at once, and the first one is recorded', async () => {
  const { bucket } = await quarantined();
  const second = releaseState({ by: 'ron@desk', reason: 'The same.' }, { execution: 'release-2' });

  const answers = await Promise.all([publish(bucket, releaseState()), publish(bucket, second)]);
  const after = everything(bucket);
  answers.push(await publish(bucket, releaseState({}, { execution: 'release-3' })));

  expect(answers.map(({ outcome }) => outcome)).toEqual(['PUBLISHED', 'PUBLISHED', 'PUBLISHED']);
  expect(json(bucket, RELEASE_KEY)).toMatchObject({ execution: 'release-1', by: 'dana@desk' });
  expect(everything(bucket)).toEqual(after);
});

test('moves the pointer of the date but not the latest pointer if a later date is published', async () => {
  const { bucket } = await quarantined();
  putPublished(bucket, { date: '2026-11-21', rows: 100 });
  bucket.put(LATEST, bucket.text('published/entity=leads/date=2026-11-21.json') ?? '');

  expect(await publish(bucket, releaseState())).toMatchObject({ released: { latest: false } });

  expect(json<Pointer>(bucket, BY_DATE).execution).toBe('night-1');
  expect(json<Pointer>(bucket, LATEST).execution).toBe('of-2026-11-21');
});

test('refuses the release if a later run of the date is published meanwhile', async () => {
  let reads = 0;
  const { bucket } = await quarantined({
    before: (operation, key) => {
      if (operation === 'stream' && key === FILE_KEY) reads += 1;
      // The first read belongs to the run itself.
      if (reads === 2) laterRun();
    },
  });
  function laterRun() {
    const startedAt = '2026-11-20T05:00:00.000Z';
    putPublished(bucket, { date: '2026-11-20', rows: 100, manifest: { startedAt }, pointer: { startedAt } });
  }

  const { message } = await failureOf(publish(bucket, releaseState()), 'InvalidInput');

  await expectTexts('release-of-older-run', [['a later run of the date is published', message]]);
  expect(json<Pointer>(bucket, BY_DATE).execution).toBe('of-2026-11-20');
  expect(bucket.text(RELEASE_KEY)).toBeUndefined();
});

test.each<[string, (bucket: FakeBucket) => unknown]>([
  ['other bytes', (bucket) => bucket.put(FILE_KEY, 'id,name\n9,a\n2,b\n3,c\n')],
  ['fewer bytes', (bucket) => bucket.put(FILE_KEY, 'id,name\n')],
])('refuses to release a stored file that now has %s', async (_, change) => {
  const { bucket } = await quarantined();
  change(bucket);
  const before = everything(bucket);

  await failureOf(publish(bucket, releaseState()), 'StorageConflict');

  expect(everything(bucket)).toEqual(before);
});

const manifestWith = (overrides: object) => (bucket: FakeBucket) =>
  bucket.put(MANIFEST_KEY, JSON.stringify({ ...manifestIn(bucket), ...overrides }));
const ofOwnPlan = (bucket: FakeBucket) => {
  const { run } = manifestIn(bucket);
  return manifestWith({ run: { ...run, kind: 'partial', differs: ['filters'] } })(bucket);
};
const NOT_RELEASED: [what: string, input: object, change?: (bucket: FakeBucket) => unknown][] = [
  ['is unknown', { release: 'night-7' }],
  ['is of another entity', { entity: 'contacts' }],
  ['is published', { release: 'of-2026-11-19' }],
  ['was stored without publication', {}, manifestWith({ state: 'unpublished' })],
  ['holds a left-out column', {}, manifestWith(stoppedBy('excepted'))],
  ['is partial, with newNormal', { newNormal: true }, ofOwnPlan],
  ['is requested without a reason', { reason: '  ' }],
  ['is requested with unknown keys', { date: '2026-11-20' }],
  ['has an invalid name', { release: '../x' }],
  [
    'is older than the published run of its date',
    {},
    (bucket) =>
      putPublished(bucket, { date: '2026-11-20', rows: 1, pointer: { startedAt: '2026-11-20T05:00:00.000Z' } }),
  ],
];

test('refuses to release some runs, says why and writes nothing', async () => {
  const told: [what: string, message: string][] = [];
  for (const [what, input, change] of NOT_RELEASED) {
    const { bucket } = await quarantined();
    change?.(bucket);
    const before = everything(bucket);
    const { message } = await failureOf(publish(bucket, releaseState(input)), 'InvalidInput');
    expect(everything(bucket), what).toEqual(before);
    told.push([`a run that ${what}`, message]);
  }
  await expectMessages('release-input-refusals', told);
});

test('refuses a second release with another newNormal', async () => {
  const { bucket } = await quarantined();
  const killed = { ...bucket, replace: async () => Promise.reject(new RunError('StorageUnavailable', 'Down.')) };
  await failureOf(publish(killed, releaseState()), 'StorageUnavailable');

  const second = releaseState({ newNormal: true }, { execution: 'release-2' });
  const { message } = await failureOf(publish(bucket, second), 'InvalidInput');

  await expectTexts('release-began-otherwise', [['a release that began without --new-normal', message]]);
});

test("releases a file that today's settings would stop for another reason", async () => {
  const { bucket } = await quarantined();
  const since = { deployment: deployment({ entities: { leads: { guards: { minRows: 1000 } } } }) };

  expect(await publish(bucket, releaseState(), since)).toMatchObject({ outcome: 'PUBLISHED' });
});
