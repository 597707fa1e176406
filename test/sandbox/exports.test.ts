import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ENTITIES } from '../../core/config/entities.ts';
import { apiOf, createExport, exportedFile, fieldNamesOf, fileUrl, sandboxFor } from './client.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function rowsAt(url: string): Promise<string[][]> {
  return z.array(z.array(z.string())).parse(parse(await (await fetch(url)).text()));
}

test.each([
  ['id', (id: string) => ({ id })],
  ['uuid', (uuid: string) => ({ uuid })],
  ['exportId', (exportId: string) => ({ exportId })],
  ['data', (id: string) => ({ data: { id } })],
  ['string', (id: string) => id],
] as const)('create answers 201 with the id in the shape %s', async (createAnswer, shape) => {
  const sandbox = await sandboxFor({ createAnswer });
  const answer = await apiOf(sandbox)('POST', '/leads/exports', { columns: ['id'] });
  const id = sandbox.ledger.calls({ kind: 'create' })[0]?.exportId ?? '';
  expect(answer.status).toBe(201);
  expect(id).toMatch(UUID_V4);
  expect(await answer.json()).toEqual(shape(id));
});

test.each([
  ['bare', (record: object) => record],
  ['wrapped', (data: object) => ({ data })],
  ['withData', (record: object) => ({ ...record, data: { rows: 7 } })],
  ['uuid', ({ id: uuid, ...record }: { id: string }) => ({ uuid, ...record })],
  ['exportId', ({ id: exportId, ...record }: { id: string }) => ({ exportId, ...record })],
] as const)('the record of an export is answered in the shape %s', async (recordShape, shape) => {
  const sandbox = await sandboxFor({ recordShape });
  const api = apiOf(sandbox);
  const id = await createExport(api, 'leads', { columns: ['id'] });

  const shown = { id, entity: 'leads', createdBy: 'דנה לוי' };
  const record = shape(shown);

  expect(await (await api('GET', `/leads/exports/${id}`)).json()).toMatchObject(record);
});

test.each(['array', 'data', 'fields', 'items'] as const)(
  'the fields are listed in the shape %s',
  async (fieldsShape) => {
    const sandbox = await sandboxFor({ fieldsShape });
    const answer: unknown = await (await apiOf(sandbox)('GET', '/meetings/fields')).json();
    const list = fieldsShape === 'array' ? answer : z.record(z.string(), z.unknown()).parse(answer)[fieldsShape];
    expect(list).toContainEqual({ fieldName: 'startsAt', label: expect.any(String), type: 'datetime' });
  },
);

test.each(ENTITIES)(
  '%s: the file has the header requested, every record, Hebrew and all that is hard',
  async (entity) => {
    const sandbox = await sandboxFor({ rows: 25 });
    const columns = await fieldNamesOf(apiOf(sandbox), entity);
    expect(columns.length).toBeGreaterThanOrEqual(12);
    expect(columns.length).toBeLessThanOrEqual(26);
    const answer = await fetch(await exportedFile(sandbox, entity));
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${entity}.csv"`);
    const text = await answer.text();
    expect(text).toMatch(/\r\n$/);
    const [header, ...rows] = z.array(z.array(z.string())).parse(parse(text));
    expect(header).toEqual(columns);
    expect(rows).toHaveLength(25);
    const cells = rows.flat();
    for (const hard of [/[א-ת]/, /[A-Za-z]/, /"/, /,/, /[^\r]\n/, /\r\n/, /^$/]) {
      expect(cells.some((cell) => hard.test(cell))).toBe(true);
    }
    expect(new Set(rows.map(([id]) => id)).size).toBe(25);
  },
);

test('columns come in the order asked for, and the same request gives the same bytes', async () => {
  const sandbox = await sandboxFor({ rows: { leads: 3 } });
  const columns = ['email', 'id', 'firstName'];
  const first = await rowsAt(await exportedFile(sandbox, 'leads', { columns }));
  expect(first[0]).toEqual(columns);
  expect(first).toHaveLength(4);
  const other = await sandboxFor({ rows: { leads: 3 } });
  expect(await rowsAt(await exportedFile(other, 'leads', { columns }))).toEqual(first);
});

test('an export without records is its header', async () => {
  const sandbox = await sandboxFor({ rows: 0 });
  const url = await exportedFile(sandbox, 'leads', { columns: ['id', 'email'] });
  expect(await (await fetch(url)).text()).toBe('id,email\r\n');
});

test('sorts and filters are applied', async () => {
  const sandbox = await sandboxFor({ rows: 200 });
  const scores = async (request: object) => {
    const url = await exportedFile(sandbox, 'leads', { columns: ['score'], ...request });
    return (await rowsAt(url)).slice(1).map(([score]) => Number(score));
  };
  const between = await scores({
    filters: [
      { field: 'score', operator: 'gt', value: 40 },
      { field: 'score', operator: 'lt', value: 60 },
    ],
    sorts: [{ field: 'score', dir: 'desc' }],
  });
  expect(between.length).toBeGreaterThan(5);
  expect(between).toEqual(between.toSorted((a, b) => b - a));
  expect(between.every((score) => score > 40 && score < 60)).toBe(true);
  const outside = await scores({
    filters: [
      { field: 'score', operator: 'equals', value: 7 },
      { field: 'email', operator: 'contains', value: '@' },
      { field: 'score', operator: 'someday', value: 1 },
    ],
    filtersOperator: 'or',
  });
  expect(outside).toHaveLength(200);
});

test.each([
  ['no columns', {}],
  ['empty columns', { columns: [] }],
  ['an unknown column', { columns: ['id', 'shoeSize'] }],
  ['an unknown sort field', { columns: ['id'], sorts: [{ field: 'shoeSize', dir: 'asc' }] }],
  ['a sort without direction', { columns: ['id'], sorts: [{ field: 'id' }] }],
  ['an unknown combining operator', { columns: ['id'], filtersOperator: 'xor' }],
  ['a flag that is none', { columns: ['id'], sendEmail: 'no' }],
  ['an array', ['id']],
])('create answers 400 to %s', async (_, request) => {
  const answer = await apiOf(await sandboxFor())('POST', '/leads/exports', request);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
});

test('further request keys are accepted and noted in the ledger', async () => {
  const sandbox = await sandboxFor();
  const request = { columns: ['id'], sendEmail: true, lang: 'he' };
  await createExport(apiOf(sandbox), 'leads', request);
  expect(sandbox.ledger.calls({ kind: 'create' })).toMatchObject([{ request, unknownKeys: ['lang'], status: 201 }]);
});

test('a job is initiated, then processing, then processed, and its file is refused with 409 until then', async () => {
  const sandbox = await sandboxFor({ jobChecks: 3 });
  const api = apiOf(sandbox);
  const id = await createExport(api, 'employers', { columns: ['id'] });
  const path = `/employers/exports/${id}`;
  for (const status of ['INITIATED', 'PROCESSING']) {
    expect(await (await api('GET', path)).json()).toMatchObject({ id, status });
    expect((await api('POST', `${path}/download`)).status).toBe(409);
  }
  for (const _ of [1, 2]) expect(await (await api('GET', path)).json()).toMatchObject({ id, status: 'PROCESSED' });
  expect((await api('POST', `${path}/download`)).status).toBe(200);
});

test('a job may take time instead', async () => {
  const sandbox = await sandboxFor({ jobSeconds: 30 });
  const api = apiOf(sandbox);
  const id = await createExport(api, 'leads', { columns: ['id'] });
  const statuses = [];
  for (const seconds of [0, 15, 16]) {
    sandbox.clock.advance(seconds);
    statuses.push(
      z.object({ status: z.string() }).parse(await (await api('GET', `/leads/exports/${id}`)).json()).status,
    );
  }
  expect(statuses).toEqual(['INITIATED', 'PROCESSING', 'PROCESSED']);
});

test('an export is found at its own entity only', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  const id = await createExport(api, 'leads', { columns: ['id'] });
  expect((await api('GET', `/contacts/exports/${id}`)).status).toBe(404);
  expect((await api('POST', `/contacts/exports/${id}/download`)).status).toBe(404);
  expect((await api('GET', '/leads/exports/00000000-0000-4000-8000-000000000000')).status).toBe(404);
});

test.each(['/agentnumbers/fields', '/leads', '/leads/exports/x/y'])('%s answers 404 in JSON', async (path) => {
  const answer = await apiOf(await sandboxFor())('GET', path);
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ error: { code: 'not_found' } });
});

test('a file URL expires, and cannot be stretched or bent to another export', async () => {
  const sandbox = await sandboxFor({ urlSeconds: 60 });
  const api = apiOf(sandbox);
  const id = await createExport(api, 'leads', { columns: ['id'] });
  const other = await createExport(api, 'leads', { columns: ['id'] });
  const url = await fileUrl(api, 'leads', id);
  expect(url).toMatch(new RegExp(`^${sandbox.url}/files/leads/${id}/leads\\.csv\\?expires=\\d+&signature=`));
  const stretched = new URL(url);
  stretched.searchParams.set('expires', '99999999999999');
  for (const bad of [stretched.href, url.replace(id, other), `${url}x`]) expect((await fetch(bad)).status).toBe(403);
  expect((await fetch(url)).status).toBe(200);
  sandbox.clock.advance(61);
  const late = await fetch(url);
  expect(late.status).toBe(403);
  expect(late.headers.get('content-type')).toBe('application/xml');
  expect(await late.text()).toContain('<Code>RequestExpired</Code>');
});

test('the canary is in every field, in error bodies, in refused files and in the signature, and nowhere without it', async () => {
  const canary = 'CANARY-7f3a';
  const sandbox = await sandboxFor({ canary, rows: 9 });
  for (const entity of ENTITIES) {
    const url = await exportedFile(sandbox, entity);
    expect(new URL(url).searchParams.get('signature')).toContain(canary);
    const [, ...rows] = await rowsAt(url);
    expect(rows.flat().every((cell) => cell.includes(canary))).toBe(true);
  }
  const refused = await apiOf(sandbox)('GET', '/leads/exports/none');
  expect(await refused.text()).toContain(canary);
  expect(await (await fetch(`${sandbox.url}/files/leads/x/leads.csv`)).text()).toContain(canary);
  expect(JSON.stringify(sandbox.ledger.calls())).not.toContain(canary);
});
