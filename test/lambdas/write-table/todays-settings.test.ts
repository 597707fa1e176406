import { describe, expect, test } from 'vitest';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { CONTENT_NOT_READ, type Content } from '../../../core/gate/facts.ts';
import { tableOfRun } from '../../../core/table/stored-table.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { CANARY, deployment, newState, runState } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { type ManifestChanges, manifestKeyOf } from '../../support/manifests.ts';
import { DATE, publishedRuns } from '../../support/published-run.ts';
import { expectTexts } from '../../support/screen.ts';

/** Tables of older files: they contain no column that today's settings leave out or hash, whatever applied then. */

const KEY = `tables/entity=leads/date=${DATE}/leads.parquet`;
const OLD = `id,idNumber,phone\n1,${CANARY}-a,${CANARY}-b\n2,${CANARY}-c,\n`;
const FIELDS = [
  { name: 'id', type: null, label: null },
  { name: 'idNumber', type: null, label: 'מספר זהות' },
  { name: 'phone', type: null, label: 'Mobile' },
];
const PLAIN = { columns: { except: ['phone'] }, tables: { hash: ['idNumber'] } };

type World = Awaited<ReturnType<typeof publishedRuns>>;
type RunChanges = ManifestChanges;

/** An older run of the date, and the manifest of a later run of another date. */
async function worldOf({ csv = OLD, told = { fields: FIELDS }, file = {}, columns }: Older = {}, newest?: RunChanges) {
  const world = await publishedRuns();
  await world.publish(csv, 'night-1', file, columns, told);
  if (newest) {
    await world.publish('id\n1\n', 'newest', {}, undefined, { date: '2026-11-30', ...newest });
    await world.pointLatest('newest');
  }
  return world;
}

interface Older {
  csv?: string;
  told?: RunChanges;
  file?: ManifestChanges['file'];
  columns?: string[];
}

const asked = () => newState({ entity: 'leads', table: { run: 'night-1' } }, { execution: 'table-1' });
const night = () => runState({ manifestKey: manifestKeyOf('night-1') });

/** Writes the table under a plan of leads. */
async function write(world: World, leads: object, state = asked()) {
  const settings = deployment({ entities: { leads } });
  const own = { hashKey: async () => 'k'.repeat(64), softwareVersion: '1.2.3' };
  const deps = { ...testDeps({ deployment: settings }), ...world.stored(), ...own };
  const answer = await writeTable(state, deps).catch((error: unknown) => ({ error }));
  return { answer, said: JSON.stringify([answer, deps.log]) + String(answer && 'error' in answer ? answer.error : '') };
}

const bytesOf = ({ store }: World) => store.object(KEY)?.body.toString('latin1') ?? '';

test('the rewritten table has no value of a column that is left out or hashed today', async () => {
  const world = await worldOf();
  await write(world, { tables: {} });
  expect(bytesOf(world)).toContain(CANARY);
  const { answer, said } = await write(world, PLAIN);

  expect(answer).toMatchObject({ outcome: 'WRITTEN', table: { rows: 2 } });
  expect(bytesOf(world)).not.toContain(CANARY);
  expect(bytesOf(world)).not.toMatch(/phone/i);
  expect(said).not.toContain(CANARY);
});

test('writes no table if a left-out column is unknown, and reports no value', async () => {
  const world = await worldOf();
  const { answer, said } = await write(world, { columns: { except: ['nationalId'] }, tables: {} }, night());

  const error = await failureOf(Promise.reject((answer as { error: unknown }).error), 'TableNotWritten');
  await expectTexts('table-unknown-column', [['a left-out column that is unknown', error.message]]);
  expect(world.store.keys()).not.toContain(KEY);
  expect(said).not.toContain(CANARY);
});

test('the table has the digest of its settings, which changes with them', async () => {
  const world = await worldOf();
  const settingsOf = () => world.store.object(KEY)?.headers['x-amz-meta-settings'];

  await write(world, PLAIN);
  const first = settingsOf();
  await write(world, { ...PLAIN, tables: { except: ['idNumber'] } });

  const plan = deployment({ entities: { leads: PLAIN } }).entities.leads;
  expect(first).toBe(plan && settingsDigest(plan));
  expect(settingsOf()).toMatch(/^[0-9a-f]{16}$/);
  expect(settingsOf()).not.toBe(first);
});

test('a table that another program wrote is of no run', async () => {
  const world = await worldOf();
  await world.put(KEY, 'old');

  expect(await tableOfRun(world.stored().bucket, KEY, { run: '' })).toBeUndefined();
});

describe('a partial file', () => {
  const told: RunChanges = { kind: 'partial', differs: ['filters'], fields: FIELDS };

  test('gets no table after its publication', async () => {
    const world = await worldOf({ told });

    expect((await write(world, PLAIN, night())).answer).toEqual({ outcome: 'SUPERSEDED' });
    expect(world.store.keys()).not.toContain(KEY);
  });

  test('is refused if a person asks for its table, with the reason', async () => {
    const { answer } = await write(await worldOf({ told }), PLAIN);

    const error = await failureOf(Promise.reject((answer as { error: unknown }).error), 'InvalidInput');
    await expectTexts('table-of-another-plan', [['a run of another plan', error.message]]);
  });
});

describe('a file with an unknown header', () => {
  const csv = '1,a\n2,b\n';
  const columns = ['id', 'name'];
  const rowsOf = async (content: Content | null, leads: object = { tables: {} }) => {
    const world = await worldOf({ csv, columns, file: { header: null, content } });
    return (await write(world, leads, night())).answer;
  };

  test('has its first record as a row if the configuration says header: none', async () => {
    const answer = await rowsOf({ ...CONTENT_NOT_READ, headed: false, width: 2 });
    expect(answer).toMatchObject({ outcome: 'WRITTEN', table: { rows: 2 } });
  });

  test('has its first record as the header if a person released it', async () => {
    const answer = await rowsOf({ ...CONTENT_NOT_READ, width: 2, firstRecord: 'a' });
    expect(answer).toMatchObject({ outcome: 'WRITTEN', table: { rows: 1 } });
  });
});

test('leaves out values below an unnamed header cell, and warns with the count of such columns', async () => {
  const content = { ...CONTENT_NOT_READ, headed: true, width: 2, unnamed: 1 };
  const world = await worldOf({ csv: `id,\n1,\n2,${CANARY}\n`, file: { header: ['id', ''], content } });
  const { answer, said } = await write(world, { tables: {} });

  expect(answer).toMatchObject({ table: { rows: 2 } });
  const { table } = answer as { table: { warnings: string[] } };
  await expectTexts('table-without-column', [['a column without a name', table.warnings.join('\n')]]);
  expect(bytesOf(world) + said).not.toContain(CANARY);
});
