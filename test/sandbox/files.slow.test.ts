import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { exportedFile, rawGet, sandboxFor } from './client.ts';

const MEGABYTE = 1024 * 1024;

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

test('a range beyond the end answers 416 with the size, and one that is none is ignored', async () => {
  const url = await exportedFile(await sandboxFor());
  const size = (await rawGet(url)).bytes.length;
  for (const Range of [`bytes=${size}-`, 'bytes=-0']) {
    const { status, headers, bytes } = await rawGet(url, { Range });
    expect({ status, length: bytes.length }).toEqual({ status: 416, length: 0 });
    expect(headers['content-range']).toBe(`bytes */${size}`);
  }
  for (const Range of ['bytes=9-5', 'bytes=-', 'rows=1-2', 'bytes=0-1,4-5']) {
    expect((await rawGet(url, { Range })).status).toBe(200);
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

test('256 MB stream with their exact length while memory stays flat', async () => {
  const size = 256 * MEGABYTE;
  const sandbox = await sandboxFor({ bytes: size });
  const answer = await fetch(await exportedFile(sandbox));
  const used = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const before = used();
  let received = 0;
  let chunks = 0;
  let highest = before;
  for await (const chunk of answer.body ?? []) {
    received += chunk.length;
    chunks += 1;
    if (chunks % 50 === 0) highest = Math.max(highest, used());
  }
  expect(received).toBe(Number(answer.headers.get('content-length')));
  expect(received).toBeGreaterThan(size - 1000);
  // The garbage of files that ran in this worker before counts too.
  expect(highest - before).toBeLessThan(0.75 * size);
  expect(sandbox.ledger.calls({ kind: 'file' })).toMatchObject([{ bytes: received, complete: true, status: 200 }]);
});
