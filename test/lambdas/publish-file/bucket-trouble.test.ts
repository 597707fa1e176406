import { describe, expect, test } from 'vitest';
import { RunError, type RunErrorName } from '../../../core/errors.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { at, composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { failing } from '../../support/fake-bucket.ts';
import { SMALL_CSV, storedRun } from '../../support/stored-run.ts';

/** The operations at which the bucket may fail. */
const PLACES: [Parameters<typeof failing>[0], string][] = [
  ['stream', 'leads.csv'],
  ['read', 'date='],
  ['read', 'latest'],
  ['putOnce', '_manifest'],
  ['putOnce', 'latest'],
];

describe.each(PLACES)('if %s of %s fails:', (operation, part) => {
  const publishing = (now: string, trouble: RunErrorName, times: number) => {
    const before = failing(operation, part, new RunError(trouble, 'Down.'), times);
    const { bucket, state } = storedRun(SMALL_CSV, { before });
    const handler = asStep('PublishFile', publishFile, ...composed({ ...testDeps({ now: at(now) }), bucket }));
    return { state, invoke: (from: RunState) => handler(JSON.parse(JSON.stringify(from)), lambdaContext()) };
  };

  test('StorageUnavailable after the deadline is tried again, and the stored file is published', async () => {
    const { state, invoke } = publishing('2026-11-20T02:00:01Z', 'StorageUnavailable', 1);

    const later = await invoke(state);

    expect(later).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 30, lateTries: 1 });
    expect(await invoke(later)).toMatchObject({ outcome: 'PUBLISHED', rows: 2 });
  });

  test('repeated StorageUnavailable gets five late tries, then ends the run under that name', async () => {
    const { state, invoke } = publishing('2026-11-20T02:00:01Z', 'StorageUnavailable', 99);

    const states = [await invoke(state)];
    while (states[0]?.outcome === 'CONTINUE') states.unshift(await invoke(states[0]));

    expect(states.map(({ lateTries }) => lateTries)).toEqual([5, 5, 4, 3, 2, 1]);
    expect(states[0]).toMatchObject({ outcome: 'FAILED', failure: { error: 'StorageUnavailable' } });
  });

  test.each<RunErrorName>(['StorageDenied', 'StorageConflict'])('%s ends the run at once', async (name) => {
    const { state, invoke } = publishing('2026-11-20T02:00:01Z', name, 1);

    expect(await invoke(state)).toMatchObject({ outcome: 'FAILED', failure: { error: name } });
  });
});
