import { expect, test } from 'vitest';
import type { FaultInput } from '../../sandbox/faults.ts';
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

test.each([0, 10_000])('hangUp cuts after %d bytes of the length declared', async (hangUp) => {
  const { all, arrived, call } = await underFault({ hangUp });
  expect(arrived.headers['content-length']).toBe(String(all.length));
  expect(arrived.complete).toBe(false);
  expect(arrived.bytes.equals(all.subarray(0, hangUp))).toBe(true);
  expect(call).toMatchObject({ bytes: hangUp, complete: false, status: 200 });
});

test('type and content can be others', async () => {
  const body = new Uint8Array([0x50, 0x4b, 3, 4]);
  const { arrived } = await underFault({ body, contentType: 'application/zip' });
  expect(arrived.headers).toMatchObject({ 'content-type': 'application/zip', 'content-length': '4' });
  expect(arrived.bytes.equals(body)).toBe(true);
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

test('etagChangesAt makes the file another one from that call on', async () => {
  const { url, arrived } = await underFault({ etagChangesAt: 2 });
  const { etag = '' } = arrived.headers;
  const changed = await rawGet(url, { Range: 'bytes=0-9', 'If-Match': etag });
  expect(changed.status).toBe(412);
  const whole = await rawGet(url, { Range: 'bytes=0-9', 'If-Range': etag });
  expect(whole.status).toBe(200);
  expect(whole.headers.etag).not.toBe(etag);
});

test('a function makes another content of the export', async () => {
  const { all, arrived } = await underFault({ body: (content) => content.subarray(0, 5) });
  expect(arrived.bytes.equals(all.subarray(0, 5))).toBe(true);
});
