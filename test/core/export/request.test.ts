import { expect, test } from 'vitest';
import { listedOf } from '../../../core/columns/column-changes.ts';
import type { EntityPlan } from '../../../core/config/entity-settings.ts';
import { buildRequest, carriedLeftOut, fingerprintOf } from '../../../core/export/request.ts';
import { deployment } from '../../support/builders.ts';

const NAMES = { operatorField: 'filtersOperator', emailField: 'sendEmail' };
const plan = (overrides: Partial<EntityPlan> = {}) => ({ ...deployment().entities.leads, ...overrides });

const sorts = [{ field: 'a', dir: 'desc', nulls: null }];
const filters = [{ field: 'b', operator: 'between', value: [1, { to: 'ז' }] }];
const FILTERED = { sorts, filters, filtersOperator: 'or' as const };
const FALSY = { sorts: [], filters: [], filtersOperator: 'and' as const };
const OTHERS = { operatorField: 'combineBy', emailField: 'mailCopy' };

test.each<[what: string, input: object, configured: Partial<EntityPlan>, request: object, names?: typeof NAMES]>([
  ['no key without a setting, so that the defaults of the CRM apply', {}, {}, {}],
  ['the configured sorts and filters, unchanged', {}, FILTERED, FILTERED],
  [
    'the values of the input, even empty lists and false',
    { ...FALSY, sendEmail: false },
    { ...FILTERED, sendEmail: true },
    FALSY,
  ],
  ['the e-mail flag of the input', { sendEmail: true }, {}, { sendEmail: true }],
  ['the e-mail flag of the configuration', {}, { sendEmail: true }, { sendEmail: true }],
  ['no e-mail flag that is false', {}, { sendEmail: false }, {}],
  [
    'operator and e-mail flag under the configured names',
    { filtersOperator: 'or', sendEmail: true },
    {},
    { combineBy: 'or', mailCopy: true },
    OTHERS,
  ],
])('a request has %s', (_, input, configured, request, names = NAMES) => {
  expect(buildRequest({ entity: 'leads', ...input }, plan(configured), names, ['id'])).toEqual({
    columns: ['id'],
    ...request,
  });
});

test('limits a request to 64,000 bytes, not characters', () => {
  const build = (letter: string, count: number) => () =>
    buildRequest({ entity: 'leads', filters: [{ value: letter.repeat(count) }] }, plan(), NAMES, ['id']);
  const tooLarge = expect.objectContaining({
    name: 'ConfigInvalid',
    message: expect.stringContaining('at most 64000 are allowed'),
  });

  expect(build('x', 63_900)).not.toThrow();
  expect(build('x', 64_000)).toThrow(tooLarge);
  expect(build('ש', 31_900)).not.toThrow();
  expect(build('ש', 32_000)).toThrow(tooLarge);
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

test.each([
  ['with their labels', 'Id', 'Id'],
  ['without labels that take more than 16,000 bytes', 'Identity number of the customer, as in the passport', null],
])('a run carries left-out columns %s', (_, label, carried) => {
  const leftOut = listing(200, label).map(({ name }) => ({ entry: name, name, label }));

  expect(carriedLeftOut(leftOut)).toEqual(leftOut.map((column) => ({ ...column, label: carried })));
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
