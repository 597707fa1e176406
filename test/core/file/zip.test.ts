import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';
import { sheetXml, workbook } from '../../support/workbook.ts';
import { zipOf, zipOfFiles } from '../../support/zip.ts';

const CSV = 'id,name\n1,a\n2,b\n';
const FILE = { name: 'leads.csv', content: CSV };
const GARBAGE = { name: '__MACOSX/._leads.csv', content: 'Mac OS X attributes' };

const read = (bytes: Uint8Array, settings = {}) => readContent(bytesSource(bytes), reading(settings));
const facts = { format: 'csv', compression: 'zip', rows: 2 };

/** An archive by Python's zipfile: the two rows, followed by 64-bit sizes, with such sizes in the directory, too. */
const LARGE_ENTRY =
  'UEsDBC0ACAAIAAAAIQAAAAAA//////////8JABQAbGVhZHMuY3N2AQAQAAAAAAAAAAAAAAAAAAAAAADLTNHJS8xN5TLUSeQy0kniAgBQSwcIpcIZTRIAAAAAAAAAEAAAAAAAAABQSwECLQMtAAgACAAAACEApcIZTRIAAAAQAAAACQAAAAAAAAAAAAAAgAEAAAAAbGVhZHMuY3N2';
const END = 'UEsFBgAAAAABAAEANwAAAGUAAAAAAA==';
const LARGE_END =
  'UEsGBiwAAAAAAAAALQAtAAAAAAAAAAAAAQAAAAAAAAABAAAAAAAAADcAAAAAAAAAZQAAAAAAAABQSwYHAAAAAJwAAAAAAAAAAQAAAFBLBQYAAAAA////////////////AAA=';
const large = (end: string) => Buffer.concat([LARGE_ENTRY, end].map((text) => Buffer.from(text, 'base64')));

test.each<[string, Uint8Array]>([
  ['with ZIP64 sizes in its entry', large(END)],
  ['with ZIP64 sizes in its directory', large(LARGE_END)],
  ['stored', zipOfFiles(FILE)],
  ['compressed', zipOfFiles({ ...FILE, deflated: true })],
  ['with its sizes after the content', zipOfFiles({ ...FILE, deflated: true, flags: 8 })],
  ['with its sizes after the content, without a signature', zipOfFiles({ ...FILE, flags: 8, unsigned: true })],
  ['in a folder', zipOfFiles({ name: 'export/', content: '' }, { ...FILE, name: 'export/leads.csv' })],
  ['with a comment', zipOfFiles({ ...FILE, comment: 'Exported by CRM 4.2' })],
  ['with a slash before its name', zipOfFiles({ ...FILE, name: '/exports/leads.csv' })],
  ['with a drive letter in its name', zipOfFiles({ ...FILE, name: 'C:\\exports\\leads.csv' })],
  ['with a name above its folder', zipOfFiles({ ...FILE, name: '../../leads.csv' })],
  ['with the name of the parent folder', zipOfFiles({ ...FILE, name: '..' })],
  ['with a Hebrew name', zipOfFiles({ ...FILE, name: 'שלום' })],
])('reads the only CSV file in a zip archive: %s', async (_, bytes) => {
  expect((await read(bytes)).facts).toMatchObject(facts);
});

test('ignores entries of an operating system, and counts them as values elsewhere', async () => {
  const { facts: known, warnings } = await read(zipOfFiles(FILE, { name: '.DS_Store', content: '' }, GARBAGE));

  expect(known).toMatchObject({
    ...facts,
    content: { elsewhere: 1, elsewhereKinds: [expect.stringContaining('files')] },
  });
  expect(warnings.join()).toContain('2 other entries');
});

describe('text of the archive itself', () => {
  const kindsOf = async (file: Parameters<typeof zipOfFiles>[0]) =>
    (await read(zipOfFiles(file))).facts.content?.elsewhereKinds;
  const extra = (id: number, text: string) => {
    const header = Buffer.alloc(4);
    header.writeUInt16LE(id, 0);
    header.writeUInt16LE(Buffer.byteLength(text, 'latin1'), 2);
    return Buffer.concat([header, Buffer.from(text, 'latin1')]);
  };

  test.each([
    'leads.csv',
    'export/Leads_2026-11-26.csv',
    'leads-20261126-020134.CSV',
    'leads (12).csv',
    'agent-numbers.csv',
    'C:\\exports\\Employers.txt',
    'exports/2026/11/26/leads.csv',
    'leads_1764123456.csv',
    'לידים.csv',
    'דוח לקוחות 30.11.26.csv',
    'leads_30112026_v2.csv',
    'סיכום פוליסות נובמבר 2026.csv',
    'דו"ח חודשי.csv',
    'export-1b4e28ba-2fa1-11d2-883f-0016d3cca427.csv',
  ])('does not include a file name of usual words, dates and ids: %s', async (name) => {
    expect(await kindsOf({ ...FILE, name })).toEqual([]);
  });

  test.each(['Dan Cohen.csv', 'leads 039123456.csv', '45-67-8901.csv', '03-9123-456/leads.csv', 'שלום'])(
    'includes an unusual file name: %s',
    async (name) => {
      expect(await kindsOf({ ...FILE, name })).toEqual([expect.stringContaining('name')]);
    },
  );

  test.each<[string, Omit<Parameters<typeof zipOfFiles>[0], 'name' | 'content'>]>([
    ['includes a comment of the archive', { comment: 'Dan' }],
    ['includes a comment of an entry', { entryComment: 'Dan' }],
    ['includes an extra field in the directory', { extra: extra(0x6375, '\x01\0\0\0\0Dan') }],
    ['includes an extra field before the content', { localExtra: extra(0x9999, 'Dan') }],
    ['includes text in a field of times', { localExtra: extra(0x000a, 'Dan Cohen of Haifa, 03-9123456, '.padEnd(32)) }],
    ...[15, 23, 31].map((at): [string, object] => [
      `includes text in byte ${at} of a field of times`,
      { localExtra: extra(0x000a, `${'\x01'.repeat(at)}D`.padEnd(32, '\x01')) },
    ]),
    ['includes text in a field of zeros', { extra: extra(0xa220, '\x28\xa0\x04\0Dan') }],
    ['includes another name in an extra field', { extra: extra(0x7075, '\x01\0\0\0\0dan.csv') }],
    ['includes bytes after the extra fields', { extra: Buffer.from('Dan') }],
  ])('%s', async (_, more) => {
    expect(await kindsOf({ ...FILE, ...more })).toEqual([expect.stringContaining('comments')]);
  });

  test.each<[string, boolean]>([
    ['export/', false],
    ['__MACOSX/', false],
    ['.DS_Store', false],
    ['Dan Cohen/', true],
    ['039123456/Thumbs.db', true],
  ])('includes the unusual name of a folder or an empty file: %s', async (name, unusual) => {
    const { facts } = await read(zipOfFiles(FILE, { name, content: '' }));

    expect(facts.content?.elsewhere).toBe(unusual ? 1 : 0);
  });

  test('includes a name that an extra field replaces', async () => {
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc32('dan.csv'));
    const replaced = extra(0x7075, `\x01${checksum.toString('latin1')}leads.csv`);

    expect(await kindsOf({ ...FILE, name: 'dan.csv', extra: replaced })).toEqual([expect.stringContaining('comments')]);
  });

  test('does not include extra fields of times, sizes and owners', async () => {
    const known = Buffer.concat([
      extra(0x5455, '\x03abcdefgh'),
      extra(0x7875, '\x01\x04\xe8\x03\0\0\x04\xe8\x03\0\0'),
      extra(0xcafe, ''),
      extra(0xa220, '\x28\xa0\x04\0\0\0\0\0'),
      extra(0x000a, `\0\0\0\0\x01\0\x18\0${'abcdefg\x01'.repeat(3)}`),
      extra(0x7075, `\x01\0\0\0\0${FILE.name}`),
    ]);

    expect(await kindsOf({ ...FILE, extra: known, localExtra: known })).toEqual([]);
  });
});

describe('refuses', () => {
  const WITH_TAIL = {
    ...FILE,
    content: Buffer.concat([deflateRawSync(CSV), Buffer.from('Dan')]),
    deflatedLie: true,
    lies: { crc: crc32(CSV), size: CSV.length },
  };
  const hidden = (between: Uint8Array) => {
    const whole = zipOfFiles(FILE);
    const directory = whole.indexOf('PK\x01\x02');
    const moved = Buffer.from(Buffer.concat([whole.subarray(0, directory), between, whole.subarray(directory)]));
    moved.writeUInt32LE(directory + between.length, moved.length - 6);
    return moved;
  };

  test.each<[string, Uint8Array, string]>([
    ['an archive of two CSV files', zipOfFiles(FILE, { ...FILE, name: 'b.csv' }), 'a zip archive of several files'],
    ['an archive with entries of an operating system only', zipOfFiles(GARBAGE), 'a zip archive without a file'],
    ['two entries of one name', zipOfFiles(FILE, { ...FILE, name: 'LEADS.csv' }), 'several entries with the same name'],
    ['another size before the content', zipOfFiles({ ...FILE, lies: { localSize: 3 } }), 'describes differently'],
    ['another CRC-32 before the content', zipOfFiles({ ...FILE, lies: { localCrc: 3 } }), 'describes differently'],
    ['another method before the content', zipOfFiles({ ...FILE, lies: { localMethod: 8 } }), 'describes differently'],
    ['other flags before the content', zipOfFiles({ ...FILE, lies: { localFlags: 2 } }), 'describes differently'],
    [
      'another size after the content',
      zipOfFiles({ ...FILE, deflated: true, flags: 8, lies: { describedSize: 3 } }),
      'describes differently',
    ],
    ['bytes after the content', zipOfFiles(WITH_TAIL), 'bytes after its content'],
    ['an encrypted file', zipOfFiles({ ...FILE, deflated: true, flags: 1 }), 'encrypted'],
    [
      'another name in the directory',
      zipOfFiles({ ...FILE, lies: { name: 'other.csv' } }),
      'another name than in its directory',
    ],
    ['a smaller size in the directory', zipOfFiles({ ...FILE, deflated: true, lies: { size: 3 } }), 'another size'],
    ['a larger size in the directory', zipOfFiles({ ...FILE, deflated: true, lies: { size: 999 } }), 'another size'],
    ['another CRC-32', zipOfFiles({ ...FILE, lies: { crc: 1 } }), 'checksum'],
    ['an entry after the end', zipOfFiles({ ...FILE, lies: { offset: 5000 } }), 'not where its directory says'],
    ['a file that the directory does not name', hidden(zipOfFiles(FILE).subarray(0, 60)), 'does not list'],
    ['bytes before the directory', hidden(Buffer.alloc(1000, 'x')), 'does not list'],
    ['a web page', zipOfFiles({ name: 'leads.csv', content: '<html>' }), 'a web page, packed in a zip archive'],
    ['gzip', zipOfFiles({ name: 'leads.csv.gz', content: gzipSync(CSV) }), 'gzip, packed in a zip archive'],
    ['a zip archive', zipOfFiles({ name: 'leads.zip', content: zipOfFiles(FILE) }), 'a zip archive, packed in'],
    ['CSV that is cut off', zipOfFiles({ ...FILE, content: 'id,name\n1,"a' }), 'ends inside a quoted field'],
    ['a document of Word', zipOf('[Content_Types].xml', 'word/document.xml'), 'a Word or PowerPoint document'],
  ])('%s', async (_, bytes, words) => {
    expect((await failureOf(read(bytes), 'FileRejected')).message).toContain(words);
  });

  test('an archive that is cut off anywhere', async () => {
    const whole = zipOfFiles({ ...FILE, deflated: true });
    for (let end = 4; end < whole.length; end += 1) await failureOf(read(whole.subarray(0, end)), 'FileRejected');
  });

  test('an archive with a flipped bit in its content, or reads the same content', async () => {
    const whole = zipOfFiles({ ...FILE, deflated: true });
    const from = 30 + FILE.name.length;
    const to = whole.indexOf('PK\x01\x02');
    for (let place = from; place < to; place += 1) {
      const damaged = Buffer.from(whole);
      damaged[place] = (damaged[place] ?? 0) ^ 4;
      const known = await read(damaged).catch((error: Error) => error.name);

      // Bits after the end of the content have no meaning.
      if (known !== 'FileRejected') expect(known).toMatchObject({ facts });
    }
  });
});

test.each<[string, (content: string) => Uint8Array]>([
  ['a zip archive', (content) => zipOfFiles({ name: 'a.csv', content, deflated: true })],
  ['gzip', (content) => gzipSync(content)],
  ['a workbook', (content) => workbook({ sheets: [{ xml: sheetXml([]).padEnd(content.length) }] })],
])('%s with more content than files.maxBytes ends with DownloadTooLarge', async (_, pack) => {
  await failureOf(read(pack(`id,name\n${'1,a\n'.repeat(300_000)}`), { maxBytes: 1_000_000 }), 'DownloadTooLarge');
});

describe('with archives as an opaque format', () => {
  const opaque = { expected: { opaque: ['archive' as const] } };

  test.each<[string, Uint8Array, string | null]>([
    ['several files', zipOfFiles(FILE, { ...FILE, name: 'b.csv' }), null],
    ['a file of another kind', zipOfFiles({ name: 'leads.pdf', content: '%PDF-1.7' }), null],
    ['a zip archive in gzip', gzipSync(zipOfFiles(FILE)), 'gzip'],
  ])('an archive is published unread, with a warning: %s', async (_, bytes, compression) => {
    const { facts: known, warnings } = await read(bytes, opaque);

    expect(known).toMatchObject({ format: 'archive', compression, content: null, header: null });
    expect(warnings.join()).toContain('not read');
  });

  test('an archive with exactly one CSV file is read, and refused if it is damaged', async () => {
    expect((await read(zipOfFiles(FILE), opaque)).facts).toMatchObject(facts);
    await failureOf(read(zipOfFiles({ ...FILE, lies: { crc: 1 } }), opaque), 'FileRejected');
  });
});
