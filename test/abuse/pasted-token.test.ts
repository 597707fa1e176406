import { describe, expect, test } from 'vitest';
import { createLog } from '../../core/log/log.ts';
import { asStep } from '../../core/step/export-run.ts';
import { createExport } from '../../lambdas/create-export/create-export.ts';
import { EXPORT_ID, newState } from '../support/builders.ts';
import { composed, lambdaContext } from '../support/deps.ts';
import { createDeps } from '../support/export-records.ts';
import { fakeCrm } from '../support/fake-crm.ts';
import { written } from '../support/written.ts';

/** Abuse case: an operator pastes a token into the input of an execution. The history holds the input itself, always. */

const TOKENS: [string, string][] = [
  ['a signed token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3NyJ9.dGhlLXNpZ25hdHVyZQ'],
  ['a hexadecimal token', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['a short token', 'AKIA7FODNN7EXAMPLE'],
  ['a header', 'Bearer 7c9e6679f00b'],
];

const REFUSED: [string, (token: string) => unknown][] = [
  ['the whole input', (token) => token],
  ['a list', (token) => [token]],
  ['the entity', (token) => ({ entity: token })],
  ['a key', (token) => ({ entity: 'leads', [token]: 1 })],
  ['the date', (token) => ({ entity: 'leads', date: token })],
  ['the start by a rule', (token) => ({ entity: 'leads', scheduledFor: token })],
  ['the columns', (token) => ({ entity: 'leads', columns: token })],
  ['a column', (token) => ({ entity: 'leads', columns: ['id', token] })],
  ['the operator', (token) => ({ entity: 'leads', filtersOperator: token })],
  ['a key of a sort', (token) => ({ entity: 'leads', sorts: [token] })],
];

/**
 * The keys that accept any text and send it to the CRM. The text stays in the state and in the `request` of the
 * manifest.
 */
const TAKEN: [string, (token: string) => unknown][] = [
  ['the comment', (token) => ({ entity: 'leads', Comment: token })],
  ['the value of a filter', (token) => ({ entity: 'leads', filters: [{ field: 'id', value: token }] })],
];

async function start(input: unknown) {
  const crm = fakeCrm(['get /leads/fields', [{ fieldName: 'id' }]], ['post /leads/exports', { id: EXPORT_ID }]);
  const log = createLog('CreateExport', 'prod');
  const deps = { ...createDeps(crm), log };
  const handler = asStep('CreateExport', createExport, ...composed(deps));
  let answer: Awaited<ReturnType<typeof handler>> | undefined;
  const seen = await written(async () => {
    answer = await handler(newState(input), lambdaContext());
  });
  return { answer, ...seen };
}

describe.each(TOKENS)('%s pasted into the input of an execution', (_, token) => {
  test.each(REFUSED)('as %s ends the run, and is in no error, log or metric', async (_place, inputWith) => {
    const { answer, text, lines } = await start(inputWith(token));

    expect(answer?.outcome).toBe('FAILED');
    expect(answer?.failure?.cause).not.toContain(token);
    expect(text).not.toContain(token);
    expect(lines).toContainEqual(expect.objectContaining({ RunsEnded: 1, outcome: answer?.failure?.error }));
  });

  test.each(TAKEN)('as %s is accepted, and does not appear in a log', async (_place, inputWith) => {
    const { answer, text, lines } = await start(inputWith(token));

    expect(answer?.outcome).toBe('CREATED');
    expect(text).not.toContain(token);
    expect(lines).toHaveLength(1);
  });
});
