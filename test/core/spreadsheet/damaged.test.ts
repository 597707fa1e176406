import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ByteSource } from '../../../core/file/byte-source.ts';
import { LONGEST_TEXT, readSharedStrings } from '../../../core/spreadsheet/shared-strings.ts';
import { sheetFacts } from '../../../core/spreadsheet/sheet-facts.ts';
import { runs } from '../../support/runs.ts';
import {
  AMPLE,
  expectedColumns,
  opened,
  partsOf,
  readWorkbook,
  sheetXml,
  sourceOf,
  workbook,
} from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

const COLUMNS = ['id', 'name'];
const ROWS = [COLUMNS, ...Array.from({ length: 50 }, (_, row) => [row, `name ${row}`])];
const WHOLE = workbook({ sheets: [{ rows: ROWS }], sharedStrings: ['a', 'b'] });
const NAMED = /^UnreadableFile$/;

const factsOf = async (source: ByteSource, limits = AMPLE) =>
  sheetFacts(await opened(source, limits), expectedColumns(COLUMNS));

describe('a workbook', () => {
  test('with a flipped bit is refused, or has the same records', async () => {
    const right = await readWorkbook(WHOLE, COLUMNS);
    let refused = 0;
    const bits = fc.tuple(fc.nat(WHOLE.length - 1), fc.nat(7));
    await fc.assert(
      fc.asyncProperty(bits, async ([place, bit]) => {
        const bytes = Buffer.from(WHOLE);
        bytes[place] = (bytes[place] ?? 0) ^ (1 << bit);
        const read = await readWorkbook(bytes, COLUMNS).catch((error: Error) => error);
        if (read instanceof Error) {
          refused += 1;
          expect(read.name).toMatch(NAMED);
        } else expect(read.records).toEqual(right.records);
      }),
      { numRuns: runs(500) },
    );
    expect(refused).toBeGreaterThan(runs(250));
  });

  test('that names a missing part is refused', async () => {
    const parts = partsOf({ sheets: [{ rows: ROWS }] }).filter(({ name }) => name !== 'xl/styles.xml');

    await expect(readWorkbook(zipOfFiles(...parts), COLUMNS)).rejects.toMatchObject({ name: 'UnreadableFile' });
  });

  test.each([0, 1])('rethrows the error of the source after %d reads', async (allowed) => {
    const picture = { name: 'xl/media/large.png', content: Buffer.alloc(3 * 1024 * 1024) };
    const bytes = zipOfFiles(picture, ...partsOf({ sheets: [{ rows: ROWS }] }));
    const broken = new Error('the bucket is gone');
    let reads = 0;
    const source: ByteSource = {
      size: bytes.length,
      async *read(from, to) {
        if (reads === allowed) throw broken;
        reads += 1;
        yield bytes.subarray(from, to);
      },
    };

    await expect(factsOf(source)).rejects.toBe(broken);
  });
});

describe('the limits', () => {
  const texts = (form: string) => Array.from({ length: 100_001 }, (_, at) => form.replace('#', `${at}`)).join('');

  test('apply to content and time', async () => {
    const read = (limits: Partial<typeof AMPLE>) => factsOf(sourceOf(WHOLE), { ...AMPLE, ...limits });

    await expect(read({ contentBytes: 5000 })).rejects.toMatchObject({ name: 'ReadingUnfinished' });
    await expect(read({ secondsLeft: () => 0 })).rejects.toMatchObject({ name: 'ReadingUnfinished' });
    await expect(read({})).resolves.toBeDefined();
  });

  test.each<[string, string, string]>([
    ['a text', `<row><c t="inlineStr"><is><t>${'x'.repeat(LONGEST_TEXT + 1)}</t></is></c></row>`, 'several megabytes'],
    ['a row', `<row>${`<c t="inlineStr"><is><t>${'x'.repeat(32_767)}</t></is></c>`.repeat(300)}</row>`, 'a row'],
    ['a tag', `<row x="${'x'.repeat(LONGEST_TEXT + 100_000)}"/>`, 'several megabytes'],
    ['the depth', '<row>'.repeat(300), 'nested too deeply'],
  ])('apply to %s', async (_, rows, message) => {
    const xml = sheetXml([COLUMNS]).replace('</sheetData>', `${rows}</sheetData>`);

    await expect(readWorkbook(workbook({ sheets: [{ xml }] }), COLUMNS)).rejects.toThrow(message);
  });

  test.each<[string, RegExp, string, string, string]>([
    ['sheets', /workbook\.xml$/, '</sheets>', '<sheet r:id="s0"/>'.repeat(10_000), 'more than 10000 sheets'],
    ['types of parts', /Content_Types/, '</Types>', texts('<Default Extension="#"/>'), 'more than 100000 parts'],
    ['relationships', /^_rels/, '</Relationships>', '<a/>'.repeat(100_001), 'more than 100000 parts'],
    ['styles', /styles/, '</cellXfs>', '<a/>'.repeat(100_001), 'more than 100000 parts'],
    ['number formats', /styles/, '</numFmts>', texts('<a numFmtId="#"/>'), 'more than 100000 parts'],
  ])('apply to %s', async (_, part, end, xml, message) => {
    const parts = partsOf({ sheets: [{ rows: ROWS }] }).map(({ name, content }) => ({
      name,
      content: part.test(name) ? String(content).replace(end, `${xml}${end}`) : content,
    }));

    await expect(readWorkbook(zipOfFiles(...parts), COLUMNS)).rejects.toThrow(message);
  });

  test('apply to shared texts that many cells of a row refer to', async () => {
    const row = [COLUMNS, Array.from({ length: 1000 }, () => ({ xml: '<c t="s"><v>0</v></c>' }))];
    const draft = { sheets: [{ rows: row }], sharedStrings: ['x'.repeat(32_767)] };

    await expect(readWorkbook(workbook(draft), COLUMNS)).rejects.toThrow('a row');
  });
});

test('a cell of 32,767 characters is read', async () => {
  const long = 'ש'.repeat(32_767);

  expect((await readWorkbook(workbook({ sheets: [{ rows: [COLUMNS, ['1', long]] }] }), COLUMNS)).records[1]?.[1]).toBe(
    long,
  );
});

test('shared texts of any length can be read in any order', async () => {
  const textOf = (number: number) =>
    number % 1000 === 0 ? `${number}é`.repeat(4000) : `${number} ${'שלום'.repeat(number % 7)}`;
  async function* part() {
    yield Buffer.from('<sst>');
    for (let number = 0; number < 60_000; number += 1) yield Buffer.from(`<si><t>${textOf(number)}</t></si>`);
    yield Buffer.from('</sst>');
  }
  const strings = await readSharedStrings(part(), 20_000_000);

  const asked = Array.from({ length: 20_000 }, (_, place) => [(place * 7919) % 60_000, place]).flat();
  expect(asked.filter((number) => strings.get(number) !== textOf(number))).toEqual([]);
  expect(strings.get(59_999)).toBe(textOf(59_999));
});

test('a small workbook is read with one request', async () => {
  const reads: [number, number][] = [];

  await factsOf(sourceOf(WHOLE, reads));

  expect(reads).toEqual([[0, WHOLE.length]]);
});
