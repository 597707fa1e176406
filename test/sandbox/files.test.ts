import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { exportedFile, rawGet, sandboxFor } from './client.ts';

test('ranges answer 206 with the bytes requested', async () => {
  const url = await exportedFile(await sandboxFor());
  const { bytes: all } = await rawGet(url);
  const size = all.length;
  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=10-99', 10, 100],
    ['bytes=50-', 50, size],
    ['bytes=-7', size - 7, size],
    [`bytes=5-${size + 100}`, 5, size],
  ] as const) {
    const { status, headers, bytes } = await rawGet(url, { Range: range });
    expect({ range, status }).toEqual({ range, status: 206 });
    expect(headers['content-range']).toBe(`bytes ${from}-${to - 1}/${size}`);
    expect(headers['content-length']).toBe(String(to - from));
    expect(bytes.equals(all.subarray(from, to))).toBe(true);
  }
});

test('If-Match and If-Range guard a range by the ETag', async () => {
  const url = await exportedFile(await sandboxFor());
  const { etag = '' } = (await rawGet(url)).headers;
  const get = async (headers: Record<string, string>) => (await rawGet(url, { Range: 'bytes=0-9', ...headers })).status;
  expect(await get({ 'If-Match': etag })).toBe(206);
  expect(await get({ 'If-Match': '"other"' })).toBe(412);
  expect(await get({ 'If-Range': etag })).toBe(206);
  expect(await get({ 'If-Range': '"other"' })).toBe(200);
});

test.each([
  ['Authorization', 400],
  ['Cookie', 400],
])('a request with %s is refused and a violation', async (name, status) => {
  const sandbox = await sandboxFor();
  const url = await exportedFile(sandbox);
  expect((await rawGet(url, { [name]: 'Bearer x' })).status).toBe(status);
  expect(sandbox.ledger.violations()).toMatchObject([{ kind: 'file', status }]);
});

test('a generated file has about the size requested, whole lines, an id of its own in each, and stable ranges', async () => {
  const sandbox = await sandboxFor({ bytes: { leads: 1_000_000 } });
  const url = await exportedFile(sandbox);
  const { bytes: all, headers } = await rawGet(url);
  expect(headers['content-length']).toBe(String(all.length));
  expect(Math.abs(all.length - 1_000_000)).toBeLessThan(1000);
  const rows = z.array(z.array(z.string())).parse(parse(all));
  expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThan(2000);
  for (const [from, to] of [
    [0, 700_000],
    [300_001, 999_000],
    [600_000, 600_100],
  ] as const) {
    const { bytes } = await rawGet(url, { Range: `bytes=${from}-${to - 1}` });
    expect(bytes.equals(all.subarray(from, to))).toBe(true);
  }
});
