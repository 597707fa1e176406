import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { judgeFile } from '../../../core/file/file-kind.ts';
import { readContent } from '../../../core/file/read-content.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';

/** A compound file (MS-CFB) with a directory of these names at an offset. */
function compoundFile(names: string[], offset = 1024): Buffer {
  const bytes = Buffer.alloc(offset + 128 * (names.length + 4));
  bytes.write('d0cf11e0a1b11ae1', 'hex');
  for (const [place, name] of names.entries()) bytes.write(name, offset + 128 * place, 'utf16le');
  return bytes;
}

const read = (bytes: Uint8Array) => readContent(bytesSource(bytes), reading({ expected: { opaque: ['xls'] } }));

test.each([512, 4096, 500_096, 2_000_000])(
  'reports a workbook with a password as encrypted, even if xls is opaque: directory at %i',
  async (offset) => {
    const bytes = compoundFile(['Root Entry', 'EncryptionInfo', 'EncryptedPackage'], offset);

    for (const stored of [bytes, gzipSync(bytes)])
      expect((await failureOf(read(stored), 'FileRejected')).message).toContain('password');
  },
);

test('is encrypted or not only by its whole content: the directory may follow the first bytes', () => {
  const first = compoundFile(['Root Entry', 'EncryptedPackage'], 4096).subarray(0, 1024);

  expect(judgeFile(first, false, reading().expected)).toMatchObject({ result: 'compound' });
});

test('a workbook of Excel 97 is refused as such, unless xls is opaque', async () => {
  const bytes = compoundFile(['Root Entry', 'Workbook']);

  expect((await failureOf(readContent(bytesSource(bytes), reading()), 'FileRejected')).message).toMatch(
    /an Excel 97 spreadsheet \(/,
  );
});

test.each<[string, Buffer]>([
  ['a workbook of Excel 97', compoundFile(['Root Entry', 'Workbook', '\u0005SummaryInformation'])],
  ['a workbook with the word in a cell', compoundFile(['EncryptedPackage'], 1027)],
  ['a workbook with a longer directory name', compoundFile(['EncryptedPackages'])],
  ['only a signature', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
])('%s is not reported as encrypted', async (_, bytes) => {
  expect((await read(bytes)).facts.format).toBe('xls');
});
