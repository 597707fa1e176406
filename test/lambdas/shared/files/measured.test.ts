import { expect, test } from 'vitest';
import { crc32Text, type Measure, measured } from '../../../../lambdas/shared/files/measured.ts';
import type { RemoteFile } from '../../../../lambdas/shared/files/open-file.ts';
import { CANARY } from '../../../support/builders.ts';
import { failureOf } from '../../../support/failures.ts';

const file = (length: number | null, chunks: () => AsyncGenerator<Uint8Array>): RemoteFile => ({
  body: chunks(),
  length,
  contentType: 'text/csv',
  disposition: '',
  contentEncoding: '',
  close: () => {},
});
const measureAll = async (remote: RemoteFile, measure: Measure = { bytes: 0, crc32: 0 }) => {
  for await (const _ of measured(remote, measure));
  return measure;
};

async function* twice(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('123');
  yield Buffer.from('456789');
}

test('the checksum over chunks is that of the whole, written as S3 writes it', async () => {
  const measure = await measureAll(file(9, twice));

  // The check value of CRC-32 over "123456789" is cbf43926.
  expect(crc32Text(measure.crc32)).toBe(Buffer.from('cbf43926', 'hex').toString('base64'));
  expect(crc32Text(0)).toBe('AAAAAA==');
});

test.each([8, 10])('nine bytes where %i were declared are incomplete', async (length) => {
  const error = await failureOf(measureAll(file(length, twice)), 'DownloadIncomplete');

  expect(error.message).toBe(`The file ended after 9 of ${length} bytes.`);
});

test('what breaks the stream is told by its code, never by its message', async () => {
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('12');
    throw new TypeError(CANARY);
  };

  expect((await failureOf(measureAll(file(null, broken)), 'DownloadIncomplete')).message).toBe(
    'The file broke off after 2 of unknown bytes (TypeError).',
  );
});

const sent = (content: string, parts: Partial<RemoteFile> = {}): RemoteFile => ({
  ...file(null, async function* () {
    yield Buffer.from(content);
  }),
  ...parts,
});

test.each<[string, RemoteFile]>([
  ['a page by its type', sent('x', { contentType: 'text/html; charset=utf-8' })],
  ['a page behind a byte order mark', sent('\ufeff<!DOCTYPE html><html>')],
  ['the error of a store', sent('<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>')],
  [
    'the error of a store that declares itself',
    sent('<Error><Code>x</Code></Error>', { contentType: 'application/xml' }),
  ],
  [
    'JSON under the name of a table',
    sent('{"error":"x"}', { contentType: 'application/json', disposition: 'x; filename="leads.csv"' }),
  ],
])('%s is refused in place of a file', async (_, remote) => {
  await failureOf(measureAll(remote), 'FileRejected');
});

test.each<[string, RemoteFile]>([
  ['XML', sent('<?xml version="1.0"?><leads><lead/></leads>', { contentType: 'application/xml' })],
  ['JSON', sent('[]', { contentType: 'application/json' })],
])('an export may be %s: the format is not known', async (_, remote) => {
  expect((await measureAll(remote)).bytes).toBeGreaterThan(0);
});
