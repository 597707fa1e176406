import { expect, test } from 'vitest';
import { listedOf } from '../../../core/columns/column-changes.ts';
import type { EntityPlan } from '../../../core/config/entity-settings.ts';
import { buildRequest, fingerprintOf } from '../../../core/export/request.ts';
import { deployment } from '../../support/builders.ts';

const NAMES = { operatorField: 'filtersOperator', emailField: 'sendEmail' };
function thrownBy(action: () => unknown): unknown {
  try {
    return { nothingThrown: action() };
  } catch (error) {
    return error;
  }
}

const plan = (overrides: Partial<EntityPlan> = {}) => ({ ...deployment().entities.leads, ...overrides });

test('leaves out keys without a setting, so that the defaults of the CRM apply', () => {
  expect(buildRequest({ entity: 'leads' }, plan(), NAMES, ['id'])).toEqual({ columns: ['id'] });
});

test('sorts and filters of the configuration are sent unchanged', () => {
  const sorts = [{ field: 'a', dir: 'desc', nulls: null }];
  const filters = [{ field: 'b', operator: 'between', value: [1, { to: 'ז' }] }];

  const request = buildRequest({ entity: 'leads' }, plan({ sorts, filters, filtersOperator: 'or' }), NAMES, ['id']);

  expect(request).toEqual({ columns: ['id'], sorts, filters, filtersOperator: 'or' });
});

test('the input overrides the configuration, even with empty lists and false', () => {
  const configured = plan({
    sorts: [{ field: 'a' }],
    filters: [{ field: 'b' }],
    filtersOperator: 'or',
    sendEmail: true,
  });
  const input = { entity: 'leads', sorts: [], filters: [], filtersOperator: 'and', sendEmail: false } as const;

  const request = buildRequest({ ...input, sorts: [], filters: [] }, configured, NAMES, ['id']);

  expect(request).toEqual({ columns: ['id'], sorts: [], filters: [], filtersOperator: 'and' });
});

test('sends the email flag only if it is true', () => {
  expect(buildRequest({ entity: 'leads', sendEmail: true }, plan(), NAMES, ['id'])).toHaveProperty('sendEmail', true);
  expect(buildRequest({ entity: 'leads' }, plan({ sendEmail: true }), NAMES, ['id'])).toHaveProperty('sendEmail', true);
  expect(buildRequest({ entity: 'leads' }, plan({ sendEmail: false }), NAMES, ['id'])).not.toHaveProperty('sendEmail');
});

test('sends operator and email flag under the configured names', () => {
  const names = { operatorField: 'combineBy', emailField: 'mailCopy' };
  const input = { entity: 'leads', filtersOperator: 'or', sendEmail: true } as const;

  expect(buildRequest(input, plan(), names, ['id'])).toEqual({ columns: ['id'], combineBy: 'or', mailCopy: true });
});

test('limits a request to 64,000 bytes, not characters', () => {
  const filters = (letter: string, count: number) => [{ value: letter.repeat(count) }];
  const build = (letter: string, count: number) => () =>
    buildRequest({ entity: 'leads', filters: filters(letter, count) }, plan(), NAMES, ['id']);

  expect(thrownBy(build('x', 63_900))).toHaveProperty('nothingThrown');
  expect(thrownBy(build('x', 64_000))).toMatchObject({ name: 'ConfigInvalid' });
  expect(thrownBy(build('ש', 31_900))).toHaveProperty('nothingThrown');
  expect(thrownBy(build('ש', 32_000))).toMatchObject({
    name: 'ConfigInvalid',
    message: expect.stringContaining('at most 64000 are allowed'),
  });
});

const listing = (count: number, label: string | null) =>
  Array.from({ length: count }, (_, place) => ({ name: `field${place}`, label, type: 'text' }));

test('listedOf contains the other names, and labels and types in the order of requested and other columns', () => {
  const fields = [
    { name: 'id', label: 'מזהה', type: 'uuid' },
    { name: 'firstName', label: null, type: 'text' },
    { name: 'lastName', label: 'שם משפחה', type: null },
  ];

  expect(listedOf(fields, { columns: ['lastName', 'id'] })).toEqual({
    others: ['firstName'],
    labels: ['שם משפחה', 'מזהה', null],
    types: [null, 'uuid', 'text'],
    complete: true,
  });
});

test.each([
  ['names, labels and types of 100 columns', 100, { others: 99, labels: 100, types: 100 }],
  ['names and labels of 1,500 columns', 1500, { others: 1499, labels: 1500, types: undefined }],
  ['names of 3,000 columns', 3000, { others: 2999, labels: undefined, types: undefined }],
  ['no name of 9,000 columns', 9000, { others: 0, labels: undefined, types: undefined }],
])('listedOf keeps %s within 64,000 bytes', (_, count, carried) => {
  const listed = listedOf(listing(count, 'תווית של שדה'), { columns: ['field0'] });

  expect({ others: listed.others.length, labels: listed.labels?.length, types: listed.types?.length }).toEqual(carried);
  expect(Buffer.byteLength(JSON.stringify(listed))).toBeLessThanOrEqual(64_000);
});

test('a fingerprint is the same for equal requests of an entity, and differs for others', () => {
  const request = { columns: ['id'], sorts: [] };

  expect(fingerprintOf('leads', request)).toMatch(/^[0-9a-f]{64}$/);
  expect(fingerprintOf('leads', structuredClone(request))).toBe(fingerprintOf('leads', request));
  expect(fingerprintOf('contacts', request)).not.toBe(fingerprintOf('leads', request));
  expect(fingerprintOf('leads', { ...request, columns: ['id', 'x'] })).not.toBe(fingerprintOf('leads', request));
});

test('a fingerprint does not change from one release to the next', () => {
  expect(fingerprintOf('leads', { columns: ['id'] })).toBe(
    '84ab976f2d19e92a5a293bf857d7bfbd3db44805d69360fe57c5ca367ad5827d',
  );
});
