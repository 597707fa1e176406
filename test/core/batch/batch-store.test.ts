import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createBatchStore } from '../../../core/batch/batch-store.ts';
import { s3, s3Error } from '../../support/aws-servers.ts';
import { failureOf } from '../../support/failures.ts';

async function storeWith(body?: string, trouble?: Parameters<typeof s3>[0]) {
  const bucket = await s3(trouble);
  if (body !== undefined) bucket.objects.set('k', { body: Buffer.from(body), type: 'text/plain' });
  return { ...createBatchStore(bucket.client, 'exports'), objects: bucket.objects };
}

const textOf = (body: AsyncIterable<Uint8Array>) => text(Readable.from(body));

test('an object is opened with its size and its name for these bytes', async () => {
  const { open } = await storeWith('0123456789');

  const opened = await open('k');

  expect(opened).toMatchObject({ bytes: 10, etag: expect.stringMatching(/^"[0-9a-f]{32}"$/) });
  expect(opened && (await textOf(opened.body))).toBe('0123456789');
  expect(await open('absent')).toBeUndefined();
});

test('a slice is what was asked for, of the version that was opened', async () => {
  const asked: unknown[] = [];
  const { slice, open } = await storeWith('0123456789', ({ headers }) => {
    asked.push([headers.range, headers['if-match']]);
    return undefined;
  });

  const etag = (await open('k'))?.etag ?? '';
  expect((await slice('k', etag, 2, 5)).toString()).toBe('234');
  expect(asked.slice(1)).toEqual([['bytes=2-4', etag]]);
});

test.each([
  ['changed', 412, 'PreconditionFailed', 'StorageConflict'],
  ['gone', 404, 'NoSuchKey', 'StorageConflict'],
  ['forbidden', 403, 'AccessDenied', 'StorageDenied'],
  ['out of reach', 503, 'SlowDown', 'StorageUnavailable'],
] as const)('a slice of an object that is %s ends as told', async (_, status, code, name) => {
  const { slice, open } = await storeWith('0123456789', (__, response) => Boolean(s3Error(response, status, code)));

  await failureOf(slice('k', '"e"', 0, 1), name);
  if (name !== 'StorageConflict') await failureOf(open('k'), name);
});

test('an object whose connection breaks is trouble of the bucket', async () => {
  const { open } = await storeWith('0123456789', (_, response) => {
    response.writeHead(200, { 'content-length': '10' });
    response.write('012', () => response.destroy());
    return true;
  });
  const opened = await open('k');

  await failureOf(textOf(opened?.body ?? (async function* () {})()), 'StorageUnavailable');
});

/** Lists `results/` in pages. */
function listing(pages: string[][], asked: string[]) {
  return ({ operation }: { operation: string }, response: ServerResponse) => {
    asked.push(operation);
    const keys = pages.shift() ?? [];
    const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
    const next = pages.length > 0 ? '<NextContinuationToken>more</NextContinuationToken>' : '';
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(`<?xml version="1.0"?><ListBucketResult>${contents}${next}</ListBucketResult>`);
    return true;
  };
}

test('keys are listed over all pages, or up to a number', async () => {
  const all = await storeWith(undefined, listing([['a', 'b'], ['c']], []));
  expect(await all.list('results/')).toEqual(['a', 'b', 'c']);

  const asked: string[] = [];
  const some = await storeWith(undefined, listing([['a', 'b'], ['c']], asked));
  expect(await some.list('results/', 2)).toEqual(['a', 'b']);
  expect(asked).toHaveLength(1);
});

test('keys that may not be listed are denied', async () => {
  const { list } = await storeWith(undefined, (_, response) => Boolean(s3Error(response, 403, 'AccessDenied')));

  await failureOf(list('results/'), 'StorageDenied');
});
