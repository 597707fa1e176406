import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { asStep } from '../../../core/step/export-run.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { keepRecord } from '../../../lambdas/create-export/export-record.ts';
import { CANARY, EXPORT_ID, newState, OTHER_EXPORT_ID } from '../../support/builders.ts';
import { at, composed, lambdaContext } from '../../support/deps.ts';
import { createDeps, emptyLedger, tableOf } from '../../support/export-records.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { putPublished } from '../../support/published.ts';
import { expectTexts } from '../../support/screen.ts';

type Answers = Parameters<typeof fakeCrm>;

const FIELDS: Answers[number] = ['get /leads/fields', [{ fieldName: 'id' }, { fieldName: 'name' }]];
const created = (id: string): Answers[number] => ['post /leads/exports', { id }];
const status = (answer: unknown): Answers[number] => ['get /leads/exports/{id}', answer];
const NEW = created(OTHER_EXPORT_ID);

/** The dependencies of CreateExport a day after the failed run, with these answers of the CRM. */
function retryDeps(ledger = emptyLedger(), ...answers: Answers) {
  const now = at('2026-11-21T07:00:00.000Z');
  return createDeps(fakeCrm(FIELDS, ...answers), { now }, ledger);
}

const startedAt = '2026-11-21T06:55:00.000Z';
const retry = (input: object = {}, execution = 'retry-1') =>
  newState({ entity: 'leads', date: '2026-11-20', adopt: 'night-1', ...input }, { execution, startedAt });

/** The ledger after a run of the day before that created an export and failed later. */
async function afterFailedRun(input: object = {}) {
  const ledger = emptyLedger();
  const deps = createDeps(fakeCrm(FIELDS, created(EXPORT_ID)), {}, ledger);
  await createExport(newState({ entity: 'leads', ...input }), deps);
  return ledger;
}

const linesOf = ({ crm }: ReturnType<typeof retryDeps>) => crm.calls.map(({ line }) => line);
const LOOKED = ['get /leads/fields', 'get /leads/exports/{id}'];
const POSTED = 'post /leads/exports';

test.each(['INITIATED', 'PROCESSING', 'PROCESSED'])('adopts an export that is %s, without a POST', async (word) => {
  const deps = retryDeps(await afterFailedRun(), status({ id: EXPORT_ID, status: word }));

  const answer = await createExport(retry(), deps);

  expect(linesOf(deps)).toEqual(LOOKED);
  expect(answer).toMatchObject({
    outcome: 'CREATED',
    checks: 1,
    run: {
      exportId: EXPORT_ID,
      createdAt: '2026-11-20T01:10:00.000Z',
      adopted: 'night-1',
      remarks: [],
      date: '2026-11-20',
      prefix: 'runs/entity=leads/run=retry-1/',
      deadline: '2026-11-21T07:55:00.000Z',
    },
  });
  expect(deps.log.lines).toEqual([{ level: 'info', message: expect.stringMatching(/^adopted/), fields: {} }]);
});

test.each<[string, unknown, string]>([
  ['does not know', new RunError('ExportNotFound', 'Gone.'), 'ExportNotFound'],
  ['reports as failed', { status: 'FAILED' }, 'failed'],
  ['confuses', { id: OTHER_EXPORT_ID, status: 'PROCESSED' }, 'CrmContractError'],
])('requests a new export instead of one that the CRM %s', async (_, answer, reason) => {
  const deps = retryDeps(await afterFailedRun(), status(answer), NEW);

  const { run, checks } = await createExport(retry(), deps);

  expect(linesOf(deps)).toEqual([...LOOKED, POSTED]);
  expect(run).toMatchObject({ exportId: OTHER_EXPORT_ID, createdAt: '2026-11-21T07:00:00.000Z', adopted: null });
  await expectTexts('records-of-another-day', [
    ['a retry of yesterday that requests an export', run?.remarks.join('\n') ?? ''],
  ]);
  expect(checks).toBe(0);
  expect(deps.log.lines).toEqual([{ level: 'info', message: expect.stringContaining(reason), fields: {} }]);
});

test.each<[string, object, object]>([
  ['other columns', {}, { columns: ['id'] }],
  ['a filter, if the retry has none', { filters: [{ field: 'id' }] }, {}],
  ['another date', {}, { date: '2026-11-19' }],
])('requests a new export, without a status check, if the old one was made for %s', async (_, before, now) => {
  const deps = retryDeps(await afterFailedRun(before), NEW);

  const { run } = await createExport(retry(now), deps);

  expect(linesOf(deps)).toEqual(['get /leads/fields', POSTED]);
  expect(run).toMatchObject({ exportId: OTHER_EXPORT_ID, adopted: null });
  expect(deps.log.lines[0]?.message).toContain('another request');
});

test.each([
  ['a run of another entity', 'contacts-night'],
  ['an unknown run', CANARY],
])('adopts nothing from %s, and puts its name in no state, log or ledger', async (_, adopt) => {
  const ledger = await afterFailedRun();
  const record = { exportId: EXPORT_ID, createdAt: startedAt, fingerprint: 'of contacts', date: '2026-11-20' };
  await keepRecord(tableOf(ledger), 'contacts-night', record, new Date(startedAt));
  const deps = retryDeps(ledger, NEW);

  const answer = await createExport(retry({ adopt }), deps);

  expect(answer.run).toMatchObject({ exportId: OTHER_EXPORT_ID, adopted: null });
  expect(JSON.stringify([answer, deps.log.lines])).not.toContain(adopt);
  expect([...ledger.items.keys()]).not.toContain(`export-of#${CANARY}`);
});

test.each([[''], ['x'.repeat(81)], [{ run: 'night-1', exportId: EXPORT_ID }]])(
  'refuses %j, which names no run',
  async (adopt) => {
    await failureOf(createExport(retry({ adopt }), retryDeps()), 'InvalidInput');
  },
);

test('a retry of a retry adopts the same export with its first creation time', async () => {
  const ledger = await afterFailedRun();
  const processing = status({ status: 'PROCESSING' });
  await createExport(retry(), retryDeps(ledger, processing));

  const { run } = await createExport(retry({ adopt: 'retry-1' }, 'retry-2'), retryDeps(ledger, processing));

  expect(run).toMatchObject({ exportId: EXPORT_ID, createdAt: '2026-11-20T01:10:00.000Z', adopted: 'retry-1' });
});

test.each<[string, (table: ReturnType<typeof emptyLedger>) => Answers[number][]]>([
  ['a CRM that is down', () => [status(new RunError('CrmUnavailable', 'Down.'))]],
  [
    'a ledger that does not answer',
    (ledger) => {
      ledger.trouble = () => new Error('no answer');
      return [];
    },
  ],
])('waits for %s, without requesting a second export', async (_, answersOf) => {
  const ledger = await afterFailedRun();
  const deps = retryDeps(ledger, ...answersOf(ledger));
  const step = asStep('CreateExport', createExport, ...composed(deps));

  const answer = await step(retry(), lambdaContext());

  expect(answer).toMatchObject({ outcome: 'RETRY', run: null, unansweredCreates: 0 });
  expect(linesOf(deps)).not.toContain(POSTED);
  ledger.trouble = () => undefined;
  const later = retryDeps(ledger, status({ status: 'PROCESSED' }));
  expect((await createExport({ ...retry(), waits: 1 }, later)).run).toMatchObject({ adopted: 'night-1' });
});

test('continues if its export cannot be recorded, and a retry then requests a new one', async () => {
  const ledger = emptyLedger();
  ledger.trouble = () => new Error('no answer');
  const deps = retryDeps(ledger, created(EXPORT_ID));

  const first = await createExport(newState(), deps);

  expect(first).toMatchObject({ outcome: 'CREATED', run: { exportId: EXPORT_ID } });
  const fields = { error: 'TokenStoreUnavailable' };
  expect(deps.log.lines).toEqual([{ level: 'error', message: expect.any(String), fields }]);
  ledger.trouble = () => undefined;
  const { run } = await createExport(retry(), retryDeps(ledger, NEW));
  expect(run).toMatchObject({ exportId: OTHER_EXPORT_ID, adopted: null });
});

test('the ledger keeps only ids, digests and dates of exports, for thirty days', async () => {
  const ledger = await afterFailedRun({ filters: [{ field: 'name', value: CANARY }] });

  expect(ledger.rows()).toEqual([
    {
      pk: 'export-of#night-1',
      exportId: EXPORT_ID,
      createdAt: '2026-11-20T01:10:00.000Z',
      date: '2026-11-20',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      ttl: Date.parse('2026-12-20T01:10:00.000Z') / 1000,
    },
  ]);
});

/** The published export of the date, created at this time. */
function published(createdAt: string) {
  const bucket = fakeBucket();
  putPublished(bucket, { date: '2026-11-20', rows: 1, manifest: { createdAt } });
  return bucket;
}

test.each<[string, string, Answers[number], object]>([
  ["after the failed run's, posts", '2026-11-20T05:00:00.000Z', NEW, { adopted: null, exportId: OTHER_EXPORT_ID }],
  [
    "before the failed run's, adopts that one",
    '2026-11-19T23:00:00.000Z',
    status({ id: EXPORT_ID, status: 'PROCESSED' }),
    { adopted: 'night-1', exportId: EXPORT_ID },
  ],
])('if the published export of the date was made %s', async (_, createdAt, answer, expected) => {
  const deps = { ...retryDeps(await afterFailedRun(), answer), read: published(createdAt).read };

  expect((await createExport(retry(), deps)).run).toMatchObject(expected);
});

test('adopts the export even if the pointer cannot be read', async () => {
  const denied = async () => {
    throw new RunError('StorageDenied', 'No.');
  };
  const deps = { ...retryDeps(await afterFailedRun(), status({ id: EXPORT_ID, status: 'PROCESSED' })), read: denied };

  expect((await createExport(retry(), deps)).run).toMatchObject({ adopted: 'night-1' });
});
