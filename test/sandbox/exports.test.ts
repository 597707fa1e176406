import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ENTITIES } from '../../core/config/entities.ts';
import { apiOf, createExport, exportedFile, fieldNamesOf, rawGet, sandboxFor } from './client.ts';

const CANARY = 'CANARY-7f3a';
const rowsIn = (text: string | Uint8Array) => z.array(z.array(z.string())).parse(parse(Buffer.from(text)));
const rowsAt = async (url: string) => rowsIn((await rawGet(url)).bytes);

test.each(ENTITIES)('the file of %s has the requested header, all records, and hard characters', async (entity) => {
  const sandbox = await sandboxFor({ rows: 25 });
  const [header, ...rows] = await rowsAt(await exportedFile(sandbox, entity));
  expect(header).toEqual(await fieldNamesOf(apiOf(sandbox), entity));
  expect(new Set(rows.map(([id]) => id)).size).toBe(25);
  for (const hard of [/[א-ת]/, /[A-Za-z]/, /"/, /,/, /[^\r]\n/, /\r\n/, /^$/])
    expect(rows.flat().some((cell) => hard.test(cell))).toBe(true);
});

test('the canary is in every cell and in the signature of the link', async () => {
  const url = await exportedFile(await sandboxFor({ canary: CANARY, rows: 9 }));
  expect(new URL(url).searchParams.get('signature')).toContain(CANARY);
  const [, ...rows] = await rowsAt(url);
  expect(rows.flat().filter((cell) => !cell.includes(CANARY))).toEqual([]);
});

test.each([
  ['no columns', {}],
  ['an unknown column', { columns: ['id', 'shoeSize'] }],
])('create answers 400 to %s', async (_, request) => {
  expect((await apiOf(await sandboxFor())('POST', '/leads/exports', request)).status).toBe(400);
});

test('a job is INITIATED, PROCESSING, then PROCESSED, and its file is refused with 409 before that', async () => {
  const sandbox = await sandboxFor({ jobChecks: 3 });
  const api = apiOf(sandbox);
  const path = `/employers/exports/${await createExport(api, 'employers', { columns: ['id'] })}`;
  for (const status of ['INITIATED', 'PROCESSING', 'PROCESSED']) {
    expect(await (await api('GET', path)).json()).toMatchObject({ status });
    expect((await api('POST', `${path}/download`)).status).toBe(status === 'PROCESSED' ? 200 : 409);
  }
});

test('a link to a file expires, and is refused if changed or used with credentials', async () => {
  const sandbox = await sandboxFor({ urlSeconds: 60 });
  const url = await exportedFile(sandbox);
  const stretched = new URL(url);
  stretched.searchParams.set('expires', '99999999999999');
  for (const bad of [stretched.href, url.replace('/leads/', '/contacts/'), `${url}x`])
    expect((await fetch(bad)).status).toBe(403);
  for (const name of ['Authorization', 'Cookie']) expect((await rawGet(url, { [name]: 'x' })).status).toBe(400);
  expect(sandbox.ledger.violations()).toHaveLength(2);
  expect((await fetch(url)).status).toBe(200);
  sandbox.clock.advance(61);
  expect(await (await fetch(url)).text()).toContain('<Code>RequestExpired</Code>');
});

test.each([
  ['from records', {}, 0],
  ['generated while it is sent', { bytes: { leads: 1_000_000 } }, 1_000_000],
])('a file %s has complete rows and stable ranges', async (_, options, about) => {
  const url = await exportedFile(await sandboxFor(options));
  const { bytes: all, headers } = await rawGet(url);
  const size = all.length;
  expect(headers['content-length']).toBe(String(size));
  if (about > 0) expect(Math.abs(size - about)).toBeLessThan(1000);
  const rows = rowsIn(all);
  expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=10-99', 10, 100],
    ['bytes=50-', 50, size],
    [`bytes=5-${size + 100}`, 5, size],
  ] as const) {
    const answer = await rawGet(url, { Range: range });
    expect([answer.status, answer.headers['content-range']]).toEqual([206, `bytes ${from}-${to - 1}/${size}`]);
    expect(answer.bytes.equals(all.subarray(from, to))).toBe(true);
  }
  const guarded = async (etag = '') => (await rawGet(url, { Range: 'bytes=0-9', 'If-Match': etag })).status;
  expect(await guarded(headers.etag)).toBe(206);
  expect(await guarded('"other"')).toBe(412);
  expect((await rawGet(url, { Range: `bytes=${size}-` })).status).toBe(416);
});
