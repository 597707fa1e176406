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
