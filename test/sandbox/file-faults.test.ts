import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import type { FaultInput } from '../../sandbox/world/fault-schema.ts';
import { exportedFile, rawGet, sandboxFor } from './client.ts';

/** A sandbox, its file as it is, and what then arrives under a fault. */
async function underFault(effect: Partial<FaultInput>, headers: Record<string, string> = {}) {
  const sandbox = await sandboxFor({ rows: 200 });
  const url = await exportedFile(sandbox);
  const { bytes: all } = await rawGet(url);
  sandbox.ledger.clear();
  sandbox.faults.add({ ...effect, path: 'file' });
  const arrived = await rawGet(url, headers);
  return { sandbox, url, all, arrived, call: sandbox.ledger.calls({ kind: 'file' })[0] };
}

test.each([0, 1, 10_000])('hangUp cuts after %d bytes of the length declared', async (hangUp) => {
  const { all, arrived, call } = await underFault({ hangUp });
  expect(arrived.headers['content-length']).toBe(String(all.length));
  expect(arrived.complete).toBe(false);
  expect(arrived.bytes.equals(all.subarray(0, hangUp))).toBe(true);
  expect(call).toMatchObject({ bytes: hangUp, complete: false, status: 200 });
});

test('hangUp cuts a range after that many bytes of the range', async () => {
  const { all, arrived } = await underFault({ hangUp: 10 }, { Range: 'bytes=100-199' });
  expect(arrived).toMatchObject({ status: 206, complete: false, bytes: all.subarray(100, 110) });
});

test('chunkedCut cuts a chunked transfer before its last chunk', async () => {
  const { all, arrived } = await underFault({ chunkedCut: 5000 });
  expect(arrived.headers['transfer-encoding']).toBe('chunked');
  expect(arrived.headers['content-length']).toBeUndefined();
  expect(arrived).toMatchObject({ complete: false, bytes: all.subarray(0, 5000) });
});

test.each([true, 5000] as const)(
  'closeDelimited: %j leaves the close as the only sign of the end',
  async (closeDelimited) => {
    const { all, arrived } = await underFault({ closeDelimited });
    expect(arrived.headers).toMatchObject({ connection: 'close' });
    expect(arrived.headers['content-length'] ?? arrived.headers['transfer-encoding']).toBeUndefined();
    expect(arrived.complete).toBe(true);
    expect(arrived.bytes.equals(closeDelimited === true ? all : all.subarray(0, closeDelimited))).toBe(true);
  },
);

test.each([5, -5])('declaredLength %d is added to the true length', async (declaredLength) => {
  const sandbox = await sandboxFor();
  const url = new URL(await exportedFile(sandbox));
  sandbox.faults.add({ path: 'file', body: 'ten bytes!', declaredLength });
  // Node's HTTP client stops at the length declared; the socket shows what was really sent.
  const socket = connect(Number(url.port), url.hostname);
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
  const [head, body] = (await text(socket)).split('\r\n\r\n');
  expect(head).toContain(`Content-Length: ${10 + declaredLength}\r\n`);
  expect(body).toBe('ten bytes!');
});

test('type, name and content can be others', async () => {
  const body = new Uint8Array([0x50, 0x4b, 3, 4]);
  const { arrived } = await underFault({ body, contentType: 'application/zip', contentDisposition: '' });
  expect(arrived.headers).toMatchObject({ 'content-type': 'application/zip', 'content-length': '4' });
  expect(arrived.headers['content-disposition']).toBeUndefined();
  expect(arrived.bytes.equals(body)).toBe(true);
});

test('gzip is sent though nobody requested it, without ranges', async () => {
  const { all, arrived } = await underFault({ gzip: true }, { Range: 'bytes=0-9' });
  expect(arrived).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } });
  expect(arrived.headers['accept-ranges']).toBeUndefined();
  expect(gunzipSync(arrived.bytes).equals(all)).toBe(true);
});

test('stallAfter sends that many bytes, then nothing over an open connection', async () => {
  const sandbox = await sandboxFor({ rows: 200 });
  const url = await exportedFile(sandbox);
  sandbox.faults.add({ path: 'file', stallAfter: 100 });
  const reader = (await fetch(url)).body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(100);
  const next = reader?.read().then(
    () => 'more',
    () => 'closed',
  );
  const health = fetch(`${sandbox.url}/_sandbox/health`).then(() => 'still open');
  expect(await Promise.race([next, health])).toBe('still open');
  await sandbox.close();
  expect(await next).toBe('closed');
});

test('bytesPerSecond slows a file down', async () => {
  const started = performance.now();
  const { arrived } = await underFault({ body: 'x'.repeat(2000), bytesPerSecond: 20_000 });
  expect(arrived).toMatchObject({ complete: true, headers: { 'content-length': '2000' } });
  expect(performance.now() - started).toBeGreaterThan(90);
});

test('etagChangesAt makes the file another one from that call on', async () => {
  const { url, arrived } = await underFault({ etagChangesAt: 2 });
  const { etag = '' } = arrived.headers;
  const changed = await rawGet(url, { Range: 'bytes=0-9', 'If-Match': etag });
  expect(changed.status).toBe(412);
  const whole = await rawGet(url, { Range: 'bytes=0-9', 'If-Range': etag });
  expect(whole.status).toBe(200);
  expect(whole.headers.etag).not.toBe(etag);
});

test('ignoreRange announces ranges and answers the whole file', async () => {
  const { all, arrived } = await underFault({ ignoreRange: true }, { Range: 'bytes=0-9' });
  expect(arrived).toMatchObject({ status: 200, headers: { 'accept-ranges': 'bytes' } });
  expect(arrived.bytes.length).toBe(all.length);
});

test.each([
  ['labels and semicolons', { header: 'labels', separator: ';' }, 'utf-8', ';'],
  ['UTF-16 with a mark and tabs', { encoding: 'utf-16le', byteOrderMark: true, separator: '\t' }, 'utf-16le', '\t'],
  ['UTF-16, the other way round, with lines of old Macs', { encoding: 'utf-16be', lineBreak: '\r' }, 'utf-16be', ','],
] as const)('written: the same records in %s', async (_, written, encoding, delimiter) => {
  const { all, arrived } = await underFault({ written });

  const read = (bytes: Uint8Array, told: string, as: string): string[][] =>
    parse(new TextDecoder(told).decode(bytes), { delimiter: as, record_delimiter: ['\r\n', '\r'] });
  const [header, ...records] = read(arrived.bytes, encoding, delimiter);
  const [names, ...expected] = read(all, 'utf-8', ',');
  expect(records).toEqual(expected);
  expect(header).toHaveLength(names?.length ?? 0);
  if ('header' in written) expect(header?.[1]).toMatch(/[א-ת]/);
});

test('written: neither a header nor anything unpacked', async () => {
  const { all, arrived } = await underFault({ written: { header: 'none', packed: 'gzip', separatorLine: true } });

  const lines = gunzipSync(arrived.bytes).toString().split('\r\n');
  expect(lines[0]).toBe('sep=,');
  expect(lines[1]).toBe(all.toString().split('\r\n')[1]);
});
