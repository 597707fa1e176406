import { expect, test } from 'vitest';
import { readHeader } from '../../../lambdas/publish-file/header.ts';
import { CANARY, storedFile } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';

const file = (bytes: number) => storedFile({ key: 'k.csv', bytes });
const headerOf = (text: string) =>
  readHeader(fakeBucket({ objects: { 'k.csv': text } }), file(Buffer.byteLength(text)));

test.each([
  ['a plain line', 'id,name\n1,2\n', ['id', 'name']],
  ['a line of Windows', 'id,name\r\n1,2\r\n', ['id', 'name']],
  ['a line without an end', 'id,name', ['id', 'name']],
  ['a byte order mark', '\uFEFFid,name\n', ['id', 'name']],
  ['quoted names with commas, marks and line breaks', '"a,b","c ""d""","e\nf"\n1,2,3\n', ['a,b', 'c "d"', 'e\nf']],
  ['Hebrew', 'שם,"מספר ת.ז."\n', ['שם', 'מספר ת.ז.']],
  ['empty lines before it', '\n\r\nid\n', ['id']],
  ['empty names', 'id,,\n', ['id', '', '']],
  ['a mark inside a name', 'id,5" size\n', ['id', '5" size']],
  ['nothing', '', []],
])('%s', async (_, text, header) => {
  expect(await headerOf(text)).toEqual(header);
});

test('only the start of a file is read, though that may end inside a letter or inside quotation marks', async () => {
  const bucket = fakeBucket({ objects: { 'k.csv': `id,name\n1,"${'ש'.repeat(200_000)}"\n` } });

  expect(await readHeader(bucket, file(400_013))).toEqual(['id', 'name']);
});

test('a first line that never ends is no header, and is not quoted', async () => {
  const error = await failureOf(headerOf(`"${CANARY.repeat(40_000)}"\n`), 'FileRejected');

  expect(error.message).toContain('k.csv');
});
