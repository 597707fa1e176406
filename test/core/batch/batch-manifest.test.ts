import { expect, test } from 'vitest';
import {
  type BatchManifest,
  batchManifestSchema,
  batchManifestText,
  resultLineSchema,
  resultLineText,
} from '../../../core/batch/batch-results.ts';
import { batchManifest as manifest } from '../../support/batches.ts';
import { idOf } from '../updates/support/lines.ts';

test('writes equal manifests as equal bytes, for any order of keys', () => {
  const turned = Object.fromEntries(Object.entries(manifest()).reverse()) as BatchManifest;

  expect(batchManifestText(turned)).toBe(batchManifestText(manifest()));
  expect(JSON.parse(batchManifestText(manifest()))).toEqual(manifest());
});

test.each([
  ['a batch name with a slash', { batch: 'a/b' }],
  ['an outcome without a count', { counts: { APPLIED: 1 } }],
  ['an unknown key', { colour: 1 }],
  ['an unknown key of the result', { result: { ...manifest().result, colour: 1 } }],
  ['another version of the layout', { schemaVersion: 2 }],
])('a manifest with %s is refused', (_, change) => {
  expect(() => batchManifestText(manifest(change))).toThrow();
});

test('reads a manifest of a later release without its unknown keys', () => {
  const { input, result } = manifest();
  const more = { schemaVersion: 2, cost: 1, input: { ...input, cost: 1 }, result: { ...result, cost: 1 } };

  expect(batchManifestSchema.parse({ ...manifest(), ...more })).toEqual(manifest({ schemaVersion: 2 }));
});

test('a result is one line, and its schema allows no value of a customer except the id', () => {
  const result = {
    line: 7,
    id: idOf(7),
    outcome: 'REJECTED',
    error: 'CrmRejectedRequest',
    status: 422,
    attempts: 1,
    at: '2026-11-21T10:00:00Z',
    fields: ['gender'],
  } as const;

  expect(resultLineText({ ...result, fields: ['gender'] })).toBe(`${JSON.stringify(result)}\n`);
  expect(resultLineSchema.safeParse(result).success).toBe(true);
  expect(resultLineSchema.safeParse({ ...result, firstName: 'x' }).success).toBe(false);
  expect(resultLineSchema.safeParse({ ...result, error: 'SomethingElse' }).success).toBe(false);
});
