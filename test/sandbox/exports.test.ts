import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ENTITIES } from '../../core/config/entities.ts';
import { apiOf, createExport, exportedFile, fieldNamesOf, fileUrl, sandboxFor } from './client.ts';

async function rowsAt(url: string): Promise<string[][]> {
  return z.array(z.array(z.string())).parse(parse(await (await fetch(url)).text()));
}

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
  ['an unknown column', { columns: ['id', 'shoeSize'] }],
  ['an unknown sort field', { columns: ['id'], sorts: [{ field: 'shoeSize', dir: 'asc' }] }],
])('create answers 400 to %s', async (_, request) => {
  const answer = await apiOf(await sandboxFor())('POST', '/leads/exports', request);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
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
