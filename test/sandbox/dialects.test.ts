import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { FaultInput } from '../../sandbox/world/fault-schema.ts';
import type { Settings } from '../../sandbox/world/settings.ts';
import { readWorkbook } from '../support/workbook.ts';
import { apiOf, createExport, exportedFile, fileUrl, rawGet, sandboxFor } from './client.ts';

const COLUMNS = { columns: ['id', 'city'] };

async function recordIn(settings: Partial<Settings>): Promise<unknown> {
  const api = apiOf(await sandboxFor(settings));
  const id = await createExport(api, 'leads', COLUMNS);
  return (await api('GET', `/leads/exports/${id}`)).json();
}

/** The file of leads, as the dialect writes it. */
async function writtenAs(written: NonNullable<FaultInput['written']>) {
  const sandbox = await sandboxFor({ rows: 3 });
  sandbox.faults.add({ path: 'file', written });
  return (await rawGet(await exportedFile(sandbox, 'leads', COLUMNS))).bytes;
}

test.each([
  ['jobId', (id: string) => ({ jobId: id })],
  ['nested', (id: string) => ({ export: { id } })],
] as const)('create answers the id in the shape %s, with the status that is set', async (createAnswer, shape) => {
  const sandbox = await sandboxFor({ createAnswer, goodStatus: { create: 202 } });
  const answer = await apiOf(sandbox)('POST', '/leads/exports', COLUMNS);
  expect(answer.status).toBe(202);
  expect(await answer.json()).toEqual(shape(sandbox.ledger.calls({ kind: 'create' })[0]?.exportId ?? ''));
});

test('ids may be numbers, or stay the same for an entity', async () => {
  const numbers = apiOf(await sandboxFor({ exportIds: 'numbers' }));
  expect(await (await numbers('POST', '/leads/exports', COLUMNS)).json()).toEqual({ id: '100001' });
  expect(await (await numbers('GET', '/leads/exports/100001')).json()).toMatchObject({ id: '100001' });

  const same = apiOf(await sandboxFor({ exportIds: 'perEntity' }));
  const ids = [await createExport(same, 'leads', COLUMNS), await createExport(same, 'leads', COLUMNS)];
  expect(new Set(ids).size).toBe(1);
  expect(ids).not.toContain(await createExport(same, 'meetings', { columns: ['id'] }));
});

const ID = { label: 'מזהה', type: 'uuid' };
test.each([
  ['names', expect.arrayContaining(['id', 'city'])],
  ['byName', expect.objectContaining({ id: ID })],
  ['name', expect.arrayContaining([{ name: 'id', ...ID }])],
  ['renamed', expect.arrayContaining([{ fieldName: 'id', fieldLabel: ID.label, fieldType: ID.type }])],
  ['plain', expect.arrayContaining([{ fieldName: 'id' }])],
] as const)('the fields are listed in the shape %s', async (fieldsShape, expected) => {
  const answer = await apiOf(await sandboxFor({ fieldsShape }))('GET', '/leads/fields');
  expect(await answer.json()).toEqual(expected);
});

test('the record of an export is inside of another, has another id, or other words', async () => {
  expect(await recordIn({ recordShape: 'inExport' })).toMatchObject({ export: { status: 'PROCESSED' } });
  expect(await recordIn({ statusWords: 'lower' })).toMatchObject({ status: 'processed' });
  expect(await recordIn({ statusWords: 'others', jobChecks: 9 })).toMatchObject({ status: 'NEW' });

  const sandbox = await sandboxFor({ recordShape: 'otherId', goodStatus: { status: 202 } });
  const id = await createExport(apiOf(sandbox), 'leads', COLUMNS);
  const answer = await apiOf(sandbox)('GET', `/leads/exports/${id}`);
  const { id: answered } = z.object({ id: z.guid() }).parse(await answer.json());
  expect(answered).not.toBe(id);
  expect(answer.status).toBe(202);
});

test.each([
  ['data', { data: { url: expect.stringMatching(/^http/) } }],
  ['downloadUrl', { downloadUrl: expect.stringMatching(/^http/) }],
  ['relative', { url: expect.stringMatching(/^\/files\//) }],
] as const)('the link is answered in the shape %s', async (linkAnswer, expected) => {
  const api = apiOf(await sandboxFor({ linkAnswer, goodStatus: { download: 201 } }));
  const answer = await api('POST', `/leads/exports/${await createExport(api, 'leads', COLUMNS)}/download`);
  expect(answer.status).toBe(201);
  expect(await answer.json()).toEqual(expected);
});

test.each([
  ['amazon', /X-Amz-Expires=60&/],
  ['hidden', /\?k=/],
] as const)('a link whose life is written as %s ends in time, and names another host', async (linkLife, expected) => {
  const sandbox = await sandboxFor({ linkLife, urlSeconds: 60, linkHost: 'localhost' });
  const url = await exportedFile(sandbox);
  expect(url).toMatch(expected);
  expect(new URL(url).hostname).toBe('localhost');
  expect((await rawGet(url)).status).toBe(200);
  expect((await rawGet(url.replace(/.$/, '_'))).status).toBe(403);
  sandbox.clock.advance(61);
  expect((await rawGet(url)).status).toBe(403);
});

test('a link that is good once is refused the second time, and a new one is not', async () => {
  const sandbox = await sandboxFor({ linkUses: 1 });
  const api = apiOf(sandbox);
  const id = await createExport(api, 'leads', COLUMNS);
  const first = await fileUrl(api, 'leads', id);
  expect([(await rawGet(first)).status, (await rawGet(first)).status]).toEqual([200, 403]);
  sandbox.clock.advance(1);
  expect((await rawGet(await fileUrl(api, 'leads', id))).status).toBe(200);
});

test.each([
  ['list', 'application/json', /^\{"errors":\[\{"code":"not_found",/],
  ['code', 'application/json', /^\{"error":"not_found"\}$/],
  ['text', 'text/plain', /^There is no such/],
  ['html', 'text/html', /^<!doctype html>/],
  ['nothing', null, /^$/],
] as const)('errors have a body of the shape %s, and the headers of all answers', async (errorBody, type, expected) => {
  const api = apiOf(await sandboxFor({ errorBody, headers: { 'X-RateLimit-Limit': '60' } }));
  const answer = await api('GET', '/leads/exports/unknown');
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toBe(type);
  expect(answer.headers.get('x-ratelimit-limit')).toBe('60');
  expect(await answer.text()).toMatch(expected);
});

test('exports may need another scope', async () => {
  const refused = await apiOf(await sandboxFor({ exportScope: 'exports:read' }))('GET', '/leads/fields');
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toContain('exports:read');
});

test('a workbook has its header below the titles, on each sheet, and the same bytes each time', async () => {
  const written = { format: 'xlsx', titleRows: 2, moreSheets: 1 } as const;
  const bytes = await writtenAs(written);
  const { header, content } = await readWorkbook(bytes, COLUMNS.columns);
  expect(header).toEqual(COLUMNS.columns);
  expect(content).toMatchObject({ rows: 3 });
  expect((await writtenAs(written)).equals(bytes)).toBe(true);
});

test('the header may have labels, capitals or texts that nobody lists, in windows-1255 too', async () => {
  const headerOf = async (written: NonNullable<FaultInput['written']>) =>
    new TextDecoder('windows-1255').decode(await writtenAs(written)).split('\r\n')[0];
  expect(await headerOf({ header: 'labels', encoding: 'windows-1255' })).toBe('מזהה,עיר');
  expect(await headerOf({ header: 'capitals' })).toBe('ID,CITY');
  expect(await headerOf({ header: 'numbers' })).toBe('Field 1,Field 2');
});

test('the records may be JSON lines, or packed', async () => {
  const lines = (await writtenAs({ format: 'json-lines' })).toString().trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ id: expect.any(String), city: expect.any(String) });
  expect(gunzipSync(await writtenAs({ packed: 'gzip' })).toString()).toMatch(/^id,city\r\n/);
  expect((await writtenAs({ packed: 'zip' })).toString('latin1')).toMatch(/^PK.*leads\.csv/s);
});

test('an update answers the record of before, of another, masked, or with errors', async () => {
  const sandbox = await sandboxFor({ rows: 2 });
  const api = apiOf(sandbox);
  const id = String(sandbox.records.at('customers', 0).id);
  const answerOf = async (updateAnswer: Settings['updateAnswer'], city: string) => {
    sandbox.settings.updateAnswer = updateAnswer;
    return (await api('PATCH', `/customers/${id}`, { city })).json();
  };

  expect(await answerOf('record', 'Haifa')).toMatchObject({ id, city: 'Haifa' });
  expect(await answerOf('before', 'Acre')).toMatchObject({ data: { id, city: 'Haifa' } });
  expect(await answerOf('masked', 'Eilat')).toMatchObject({ id, city: '***at' });
  expect(await answerOf('errors', 'Lod')).toMatchObject({ id, city: 'Lod', errors: [{ code: 'not_saved' }] });
  expect(await answerOf('refusal', 'Yavne')).toEqual({ success: false, errors: [expect.anything()] });
  expect(sandbox.records.at('customers', 0).city).toBe('Lod');
  expect(await answerOf('other', 'Lod')).toMatchObject({ data: { customer: { city: 'Lod' } } });
});

test.each([409, 423] as const)('exports above those that may be under way are refused with %i', async (status) => {
  const sandbox = await sandboxFor({ exportsAtOnce: { most: 1, status }, jobChecks: 1 });
  const api = apiOf(sandbox);
  const id = await createExport(api, 'leads', COLUMNS);

  const refused = await api('POST', '/meetings/exports', { columns: ['id'] });
  expect(refused.status).toBe(status);
  expect(await refused.json()).toMatchObject({ error: { code: 'EXPORT_RUNNING' } });

  await api('GET', `/leads/exports/${id}`);
  expect((await api('POST', '/meetings/exports', { columns: ['id'] })).ok).toBe(true);
});

test('a create answers errors beside the id, or alone; a download answers no address', async () => {
  const errors = apiOf(await sandboxFor({ createAnswer: 'errors', linkAnswer: 'null' }));
  const created = z.object({ id: z.guid(), errors: z.array(z.unknown()) });
  const { id } = created.parse(await (await errors('POST', '/leads/exports', COLUMNS)).json());
  expect(await (await errors('POST', `/leads/exports/${id}/download`)).json()).toEqual({ url: null });

  const refusal = apiOf(await sandboxFor({ createAnswer: 'refusal' }));
  expect(await (await refusal('POST', '/leads/exports', COLUMNS)).json()).toMatchObject({ success: false });

  const empty = apiOf(await sandboxFor({ linkAnswer: 'empty' }));
  const path = `/leads/exports/${await createExport(empty, 'leads', COLUMNS)}/download`;
  expect(await (await empty('POST', path)).json()).toEqual({ data: { url: '' } });
});

test.each([
  [416, undefined],
  [206, 'bytes 0--1/0'],
  [204, undefined],
  [200, undefined],
] as const)(
  'a range of an empty file may be answered %i, and the file without one is empty',
  async (emptyRange, range) => {
    const sandbox = await sandboxFor({ rows: 2, emptyRange });
    sandbox.faults.add({ path: 'file', body: '' });
    const url = await exportedFile(sandbox, 'leads', COLUMNS);

    const ranged = await rawGet(url, { range: 'bytes=0-99' });
    expect([ranged.status, ranged.headers['content-range'], ranged.bytes.length]).toEqual([emptyRange, range, 0]);
    expect((await rawGet(url)).status).toBe(200);
  },
);
