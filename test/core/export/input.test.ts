import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { RunError } from '../../../core/errors.ts';
import { isOfRule, parseInput } from '../../../core/export/input.ts';
import { parseReleaseInput } from '../../../core/export/release.ts';
import { parseTableInput } from '../../../core/table/table-run.ts';
import { CANARY } from '../../support/builders.ts';
import { expectMessages } from '../../support/screen.ts';

/** The entity of an accepted input, or the error. */
function answerTo(input: unknown): unknown {
  try {
    return parseInput(input).entity;
  } catch (error) {
    return error;
  }
}

function refused(input: unknown): RunError {
  const answer = answerTo(input);
  if (answer instanceof RunError && answer.name === 'InvalidInput') return answer;
  throw answer;
}

test.each(ENTITIES)('accepts {"entity":"%s"}', (entity) => {
  expect(parseInput({ entity })).toEqual({ entity });
});

test('returns every allowed key unchanged', () => {
  const input = {
    entity: 'leads',
    scheduledFor: '2026-11-20T01:00:00Z',
    date: '2026-11-19',
    columns: ['a', 'b'],
    sorts: [{ field: 'a', dir: 'desc' }],
    filters: [{ field: 'b', operator: 'in', value: [1, { deep: null }] }],
    filtersOperator: 'or',
    sendEmail: false,
    Comment: 'asked for by the auditors',
  };

  expect(parseInput(input)).toEqual(input);
});

const CONSOLE = { AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: `arn:aws:states:${'x'.repeat(200)}` };

test('ignores the key that the console adds, in the input of an export, a release and a table', () => {
  expect(parseInput({ entity: 'leads', ...CONSOLE })).toMatchObject({ entity: 'leads' });
  expect(isOfRule({ entity: 'leads', scheduledFor: '2026-11-20T01:00:00Z', ...CONSOLE })).toBe(false);
  expect(parseReleaseInput({ entity: 'leads', release: 'run-1', reason: 'x', ...CONSOLE })).toMatchObject({
    reason: 'x',
  });
  expect(parseTableInput({ entity: 'leads', table: { run: 'run-1' }, ...CONSOLE })).toMatchObject({ entity: 'leads' });
});

test('accepts "all" as columns', () => {
  expect(parseInput({ entity: 'leads', columns: 'all' })).toMatchObject({ columns: 'all' });
});

const nested = (open: string, close: string, levels = 5000, inner = '') =>
  JSON.parse(open.repeat(levels) + inner + close.repeat(levels));
const LONG = 'x'.repeat(1001);
const REFUSED: [what: string, input: unknown][] = [
  ['{}', {}],
  ['an array', [{ entity: 'leads' }]],
  ['null', null],
  ['a misspelt entity', { entity: 'custommers' }],
  ['another letter case', { entity: 'Leads' }],
  ['an underscore', { entity: 'AGENT_NUMBERS' }],
  ['an entity far from all', { entity: 'invoices' }],
  ['a list of entities', { entity: ['leads'] }],
  ['an unknown key', { entity: 'leads', colour: 1 }],
  ['a misspelt key', { entity: 'leads', colums: [] }],
  ['a request key for the configuration', { entity: 'leads', limit: 3 }],
  ['two mistakes', { entity: 'lead', x: 1 }],
  ['an invalid date', { entity: 'leads', date: '2026-02-30' }],
  ['a time as a date', { entity: 'leads', date: '2026-02-03T00:00:00Z' }],
  ['a time without a zone', { entity: 'leads', scheduledFor: '2026-11-20T01:00:00' }],
  ['a comment of 1,001 characters', { entity: 'leads', Comment: LONG }],
  ['a long name of a parent', { entity: 'leads', AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: LONG }],
  ['an empty list of columns', { entity: 'leads', columns: [] }],
  ['a number for columns', { entity: 'leads', columns: 7 }],
  ['a filter that is not an object', { entity: 'leads', filters: ['a'] }],
  ['another operator', { entity: 'leads', filtersOperator: 'AND' }],
  ['a filter of 5,000 levels', { entity: 'leads', filters: [{ a: nested('[', ']') }] }],
  ['a sort of 101 levels', { entity: 'leads', sorts: [{ a: nested('{"a":', '}', 100, '1') }] }],
  ['a relative date in a sort', { entity: 'leads', sorts: [{ field: { $date: 'day' } }] }],
  ['a relative date as a filter', { entity: 'leads', filters: [{ $date: 'day' }] }],
  ['a flag as a word', { entity: 'leads', sendEmail: 'no' }],
];

test('refuses wrong inputs, and the message names each mistake', async () => {
  await expectMessages(
    'input-refusals',
    REFUSED.map(([what, input]) => [what, refused(input).message]),
  );
});

test.each([[{}], [[]], [7], [null], [{ entity: 'x' }], [{ entity: 'leads', y: 1 }]])(
  '%j: the message lists the seven entities, and the advice contains a valid example',
  (input) => {
    const { cause } = refused(input).failure;

    const [example = ''] = cause.match(/\{"entity[^}]*\}/) ?? [];
    for (const entity of ENTITIES) expect(cause).toContain(entity);
    expect(parseInput(JSON.parse(example))).toEqual({ entity: 'leads' });
  },
);

test.each<[string, unknown]>([
  ['inside of filters', { entity: 'leads', filters: [CANARY] }],
  ['as a relative date', { entity: 'leads', filters: [{ a: { $date: CANARY } }] }],
  ['next to a relative date', { entity: 'leads', filters: [{ a: { $date: 'day', [CANARY]: 1 } }] }],
  ['as a key above a relative date', { entity: 'leads', filters: [{ [`${CANARY}.${CANARY}`]: { $date: 7 } }] }],
])('does not quote a token pasted %s', (_, input) => {
  expect(refused(input).failure.cause).not.toContain(CANARY);
});

test('the message has less than 1,500 characters for any number of mistakes', () => {
  const wrong = Array.from({ length: 50 }, () => 1);
  const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, 1]));

  expect(refused({ entity: 'leads', sorts: wrong, filters: wrong }).message.length).toBeLessThan(1500);
  expect(refused({ entity: 'leads', ...keys }).message.length).toBeLessThan(1500);
});

test('accepts any JSON input or throws InvalidInput', () => {
  const names = 'entity date columns sorts filters Comment __proto__ constructor toString';
  const keys = fc.constantFrom(...names.split(' '));
  const near = fc.dictionary(keys, fc.oneof(fc.jsonValue(), fc.constantFrom(...ENTITIES)));

  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), near), (input) => {
      const answer = answerTo(input);
      expect([...ENTITIES, 'InvalidInput']).toContain(answer instanceof RunError ? answer.name : answer);
    }),
    { numRuns: 500 },
  );
});
