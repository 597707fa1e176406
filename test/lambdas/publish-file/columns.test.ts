import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fieldsOf } from '../../../core/columns/column-changes.ts';
import type { Run } from '../../../core/step/states.ts';
import { deployment, run } from '../../support/builders.ts';
import { MANIFEST_KEY, publish, storedRun } from '../../support/stored-run.ts';
import { zipWith } from '../../support/zip.ts';

/** A run that requested `id` and `name`; `nationalId` must not appear. */
const excepting = (overrides: Partial<Run> = {}) =>
  run({
    listed: { others: ['nationalId', 'phone'], labels: ['מזהה', 'שם', 'ת"ז', 'שם'], types: null, complete: true },
    excepted: [{ entry: 'nationalId', name: 'nationalId', label: 'ת"ז' }],
    ...overrides,
  });

/** The result for a file; `error` if it is not published. */
async function delivered(file: string | Uint8Array, given: Partial<Run> = {}, settings: object = {}) {
  const { bucket, state } = storedRun(file);
  const all = deployment({ entities: { leads: settings } });
  const step = publish(bucket, { ...state, run: excepting(given) }, { deployment: all });
  const error = await step.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  const text = bucket.text(MANIFEST_KEY);
  return { error, text, manifest: text === undefined ? undefined : JSON.parse(text), keys: bucket.keys() };
}

const pointers = (keys: string[]) => keys.filter((key) => key.startsWith('published/'));

describe('a column that is left out and delivered nevertheless', () => {
  test.each<[string, string | Uint8Array, Partial<Run>, number | null]>([
    ['by its name', 'id,name,nationalId\n1,a,123456782\n', {}, 1],
    ['by its label', 'מזהה,שם,ת"ז\n1,a,123456782\n'.replace('ת"ז', '"ת""ז"'), {}, 1],
    [
      'by its label, which only the list of the CRM has',
      'מזהה,שם,ת.ז.\n1,a,123456782\n',
      {
        listed: { others: ['nationalId'], labels: ['מזהה', 'שם', 'ת.ז.'], types: null, complete: true },
        excepted: [{ entry: 'nationalId', name: 'nationalId', label: null }],
      },
      1,
    ],
    ['in the place of another', 'nationalId,name\n123456782,a\n', {}, 1],
    [
      'though the CRM lists it no more',
      'id,name,nationalId\n1,a,123\n',
      { listed: { others: [], labels: null, types: null, complete: true } },
      1,
    ],
    ['without a name, beyond those that were requested', 'id,name,\n1,a,123456782\n', {}, 1],
    ['among labels that mean several columns', 'id,שם,שם,שם\n1,a,b,123456782\n', {}, null],
    ['under the name of another column', 'id,name,name\n1,a,123456782\n', {}, 1],
    [
      'in other letters, in a file of as many columns',
      'id,x,National_ID\n1,a,123456782\n',
      {
        listed: { others: [], labels: null, types: null, complete: false },
        request: { columns: ['id', 'name', 'phone'] },
      },
      2,
    ],
    [
      'by a label that another column has too, in a file of as many columns',
      'id,name,מספר\n1,a,123456782\n',
      {
        excepted: [{ entry: 'nationalId', name: 'nationalId', label: 'מספר' }],
        request: { columns: ['id', 'name', 'phone'] },
        listed: { others: ['email'], labels: [null, null, null, 'מספר'], types: null, complete: true },
      },
      1,
    ],
    ['packed', gzipSync('id,name,nationalId\n1,a,123456782\n'), {}, 1],
    [
      'by a run that nobody would publish',
      'id,name,nationalId\n1,a,123\n',
      { publish: false, kind: 'partial', differs: ['filters'] },
      1,
    ],
  ])('%s quarantines the file for good, and nothing of it is in the manifest', async (_, file, given, measured) => {
    const { error, manifest, text, keys } = await delivered(file, given);

    expect(error).toMatchObject({ name: 'FileQuarantined', message: expect.stringContaining('columns.except') });
    expect(error?.message).toContain('It cannot be released');
    expect(manifest.state).toBe('quarantined');
    expect(manifest.file.header ?? []).not.toContain('nationalId');
    expect(manifest.guards.checks).toContainEqual(
      expect.objectContaining({ guard: 'excepted', passed: false, measured, bound: 0 }),
    );
    expect(text).not.toContain('123456782');
    expect(pointers(keys)).toEqual([]);
  });

  test.each([
    ['1,a\n2,b\n', 'national id among the values', {}],
    ['2026-11-01,national id,b\n2026-11-02,c,d\n', 'rows alone', { request: { columns: ['id', 'name', 'phone'] } }],
    ['x,y,z\n1,2,3\n', 'a header that the CRM does not list', { request: { columns: ['id', 'name', 'phone'] } }],
  ])(
    'may be in a file without a header that the CRM lists: that is quarantined for good, or refused',
    async (file, _, given) => {
      const { error } = await delivered(file, given);

      if (error?.name === 'FileRejected') return;
      expect(error).toMatchObject({
        name: 'FileQuarantined',
        message: expect.stringContaining('It cannot be released'),
      });
    },
  );

  test('is found in a file that is alone in a zip archive', async () => {
    const good = await delivered(zipWith('leads.csv', 'id,name\n1,a\n'));
    expect(good.error).toBeUndefined();
    const { error, manifest } = await delivered(zipWith('leads.csv', 'id,name,nationalId\n1,a,123456782\n'));

    expect(error).toMatchObject({ name: 'FileQuarantined', message: expect.stringContaining('columns.except') });
    expect(manifest.guards.checks).toContainEqual(
      expect.objectContaining({ guard: 'excepted', passed: false, measured: 1, bound: 0 }),
    );
  });

  test.each([
    ['its own columns', 'id,name\n1,a\n', {}],
    ['their labels, of which one is that of another column too', 'מזהה,שם\n1,a\n', {}],
    [
      'a requested column with almost the same name',
      'national_id,id\na,1\n',
      { request: { columns: ['id', 'national_id'] } },
    ],
  ])('is not suspected in a file with %s', async (_, file, given) => {
    const { error, manifest } = await delivered(file, given);

    expect(error).toBeUndefined();
    expect(manifest.guards.checks).toContainEqual(
      expect.objectContaining({ guard: 'excepted', passed: true, measured: 0, bound: 0 }),
    );
  });

  test('is no guard where nothing is left out', async () => {
    const { manifest } = await delivered('id,name\n1,a\n', { excepted: [] });

    expect(manifest.guards.checks.map(({ guard }: { guard: string }) => guard)).not.toContain('excepted');
  });
});

describe('a header with other columns than requested', () => {
  const none = { excepted: [] };

  test.each([
    ['warn', undefined, ['The header has 3 columns; 2 were requested.']],
    ['accept', undefined, []],
    ['stop', 'FileQuarantined', ['The header has 3 columns; 2 were requested.']],
  ])('follows the policy for columns that come: %s', async (added, name, warnings) => {
    const { error, manifest } = await delivered('id,name,phone\n1,a,b\n', none, { drift: { added } });

    expect(error?.name).toBe(name);
    expect(manifest.warnings.filter((warning: string) => warning.startsWith('The header'))).toEqual(warnings);
  });

  test.each([
    ['accept', undefined],
    ['stop', 'FileQuarantined'],
  ])('follows the policy for columns that go: %s', async (removed, name) => {
    const { error, manifest, keys } = await delivered('id\n1\n', none, { drift: { removed, added: 'accept' } });

    expect(error?.name).toBe(name);
    if (removed === 'accept') return;
    expect(error?.message).toMatch(
      /it has 1 column more or fewer than were requested \(drift\)\. To publish it as it is: /,
    );
    expect(manifest.guards.checks).toContainEqual(
      expect.objectContaining({ guard: 'header', passed: false, measured: 1, bound: 0 }),
    );
    expect(pointers(keys)).toEqual([]);
  });

  test('is judged by its width where its names are not known', async () => {
    const { error } = await delivered('id,שם,\n1,a,b\n', none, { drift: { added: 'stop' } });

    expect(error?.name).toBe('FileQuarantined');
  });

  test('is judged in a file that is alone in a zip archive', async () => {
    const { error } = await delivered(zipWith('leads.csv', 'id\n1\n'), none, { drift: { removed: 'stop' } });

    expect(error?.name).toBe('FileQuarantined');
  });

  test('is no matter of the policy where only the order differs: that warns', async () => {
    const strict = { added: 'stop', removed: 'stop', retyped: 'stop' };
    const { error, manifest } = await delivered('name,id\na,1\n', none, { drift: strict });

    expect(error).toBeUndefined();
    expect(manifest.warnings).toContain('The header names the columns otherwise than they were requested.');
  });
});

test('the fields of the manifest are those of the CRM without what is left out', async () => {
  const { manifest } = await delivered('id,name\n1,a\n', { remarks: ['Columns changed.'], listed: excepting().listed });

  expect(fieldsOf(manifest.run)?.map(({ name }) => name)).toEqual(['id', 'name', 'phone']);
  expect(manifest.warnings[0]).toBe('Columns changed.');
});
