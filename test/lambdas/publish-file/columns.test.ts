import { describe, expect, test } from 'vitest';
import type { Run } from '../../../core/step/states.ts';
import { run } from '../../support/builders.ts';
import { MANIFEST_KEY, publish, storedRun } from '../../support/stored-run.ts';

/** A run that requested `id` and `name`; `nationalId` must not appear. */
const excepting = (overrides: Partial<Run> = {}) =>
  run({
    listed: { others: ['nationalId', 'phone'], labels: ['מזהה', 'שם', 'ת"ז', 'שם'], types: null, complete: true },
    excepted: [{ entry: 'nationalId', name: 'nationalId', label: 'ת"ז' }],
    ...overrides,
  });

/** The result for a file; `error` if it is not published. */
async function delivered(file: string, given: Partial<Run> = {}) {
  const { bucket, state } = storedRun(file);
  const step = publish(bucket, { ...state, run: excepting(given) });
  const error = await step.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  const text = bucket.text(MANIFEST_KEY);
  return { error, text, manifest: text === undefined ? undefined : JSON.parse(text), keys: bucket.keys() };
}

const pointers = (keys: string[]) => keys.filter((key) => key.startsWith('published/'));

describe('a column that is left out and delivered nevertheless', () => {
  test.each<[string, string, Partial<Run>, number | null]>([
    [
      'by its label, which only the list of the CRM has',
      'מזהה,שם,ת.ז.\n1,a,123456782\n',
      {
        listed: { others: ['nationalId'], labels: ['מזהה', 'שם', 'ת.ז.'], types: null, complete: true },
        excepted: [{ entry: 'nationalId', name: 'nationalId', label: null }],
      },
      1,
    ],
    [
      'though the CRM lists it no more',
      'id,name,nationalId\n1,a,123\n',
      { listed: { others: [], labels: null, types: null, complete: true } },
      1,
    ],
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

  test.each([
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
});
