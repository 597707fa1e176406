import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstRecordOf } from '../../../../core/files/csv-repeats.ts';
import { type Separator, scanByStates, scanCsv } from '../../../../core/files/csv-scan.ts';
import { lookByStates, lookForHebrew, NO_SIGNS } from '../../../../core/files/hebrew.ts';
import type { HebrewSigns } from '../../../../core/files/kernel/kernel.ts';
import { narrowed, readCsv, readHebrew } from '../../../../core/files/kernel/kernel.ts';
import { NOTHING_SCANNED } from '../../../../core/step/scan.ts';
import { runs } from '../../../support/runs.ts';

/** Lengths of pieces, and which of them a scan that changes hands, as during a deployment, reads by the kernel. */
const pieces = fc.array(fc.record({ length: fc.nat(300), byKernel: fc.boolean() }), { minLength: 1, maxLength: 8 });

function cut(bytes: Uint8Array, lengths: { length: number; byKernel: boolean }[]) {
  const ends = lengths.map((_, place) => lengths.slice(0, place + 1).reduce((sum, { length }) => sum + length, 0));
  return lengths.map(({ length, byKernel }, place) => {
    const end = ends[place] ?? 0;
    return { byKernel, piece: bytes.subarray(end - length, place === lengths.length - 1 ? bytes.length : end) };
  });
}

/** The state becomes JSON between two invocations. */
const throughJson = <T>(state: T): T => JSON.parse(JSON.stringify(state)) as T;

const usual = fc.constantFrom(
  'a',
  'שלום',
  ',',
  ',',
  ';',
  '\t',
  '\n',
  '\r\n',
  '""',
  '"a"',
  '"a,""b""\r\n"',
  'long '.repeat(20),
);
const unusual = fc.constantFrom('"', '\r', '\x1a', '\r\r\n', '\r"', '5" wide', '\n\r\n\r', '\0', '"a"b"');
const texts = (share: number) =>
  fc.array(fc.oneof({ weight: 1000, arbitrary: usual }, { weight: share, arbitrary: unusual }), {
    maxLength: 300,
    size: 'max',
  });
const csv = fc.oneof(
  ...[0, 5, 50, 500].map((share) => texts(share).map((parts) => Buffer.from(`id\n${parts.join('')}`))),
  fc.array(fc.constantFrom(0x0a, 0x0d, 0x1a, 0x22, 0x2c, 0x61), { maxLength: 500, size: 'max' }).map(Buffer.from),
  fc.uint8Array({ maxLength: 500, size: 'max' }),
);
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const header = fc.constantFrom('id', 'id,a', 'a', ',', '"a,""b"""', 'long ,a,שלום', 'שלום');
const grammar = fc
  .record({ separator: fc.constantFrom<Separator>(',', ';', '\t'), breaksAtCr: fc.constant(false), header })
  .map(({ header: text, ...rules }) => ({ ...rules, first: firstRecordOf(latin1(text), rules.separator) }));
/** Texts with lines that repeat a header, or nearly do. */
const repeating = fc
  .array(
    fc.oneof(
      header,
      header.map((text) => `"${text}"`),
      usual,
      fc.constantFrom('\n', '\r\n', 'id', '"', '"id"'),
    ),
    {
      maxLength: 300,
      size: 'max',
    },
  )
  .map((parts) => Buffer.from(parts.join('')));

test('whatever the bytes, and wherever they are cut, the kernel leaves the state that the state machine leaves', () => {
  fc.assert(
    fc.property(fc.oneof(csv, repeating), pieces, grammar, (bytes, lengths, rules) => {
      let scan = NOTHING_SCANNED;
      let expected = NOTHING_SCANNED;
      let mixed = NOTHING_SCANNED;
      for (const { piece, byKernel } of cut(bytes, lengths)) {
        scan = throughJson(scan);
        expected = throughJson(expected);
        mixed = throughJson(mixed);
        scanCsv(scan, piece, rules);
        scanByStates(expected, piece, rules);
        (byKernel ? scanCsv : scanByStates)(mixed, piece, rules);

        expect(scan).toEqual(expected);
        expect(mixed).toEqual(expected);
      }
    }),
    { numRuns: runs(3000) },
  );
});

const words = fc.constantFrom(
  'ab',
  ' ',
  ',\n',
  '\xe0\xe1',
  '\xf9\xec\xe5\xed',
  '\xe0\xc8\xe1',
  '1 \x93',
  '\xfd',
  '@[`{',
  'x'.repeat(70),
);
const strange = fc.nat(255).map((byte) => String.fromCharCode(byte));
const hebrew = fc.oneof(
  ...[1, 20, 300].map((share) =>
    fc
      .array(fc.oneof({ weight: 1000, arbitrary: words }, { weight: share, arbitrary: strange }), {
        maxLength: 200,
        size: 'max',
      })
      .map((parts) => Buffer.from(parts.join(''), 'latin1')),
  ),
  fc.uint8Array({ maxLength: 300, size: 'max' }),
);

test('whatever the bytes, and wherever they are cut, the kernel finds the signs of Hebrew that the state machine finds', () => {
  fc.assert(
    fc.property(hebrew, pieces, (bytes, lengths) => {
      let signs: HebrewSigns = NO_SIGNS;
      let expected: HebrewSigns = NO_SIGNS;
      for (const { piece } of cut(bytes, lengths)) {
        signs = throughJson(signs);
        expected = throughJson(expected);
        lookForHebrew(signs, piece);
        lookByStates(expected, piece);

        expect(signs).toEqual(expected);
      }
    }),
    { numRuns: runs(3000) },
  );
});

/** One of each kind, and the ends of their ranges. */
const KINDS = [0x20, 0x61, 0x5b, 0x80, 0x81, 0xa0, 0xbf, 0xc0, 0xd3, 0xd9, 0xe0, 0xfa, 0xfb, 0xfd, 0xff];

test.each([20, 61, 62, 63, 64])(
  'any byte behind two of each kind is judged alike, also where a block ends: %i',
  (at) => {
    const triples = KINDS.flatMap((first) => KINDS.flatMap((second) => bytesBehind(first, second)));
    for (const triple of triples) {
      const bytes = Buffer.alloc(128, ' ');
      bytes.set(triple, at);
      const signs = { ...NO_SIGNS };
      const expected = { ...NO_SIGNS };

      lookForHebrew(signs, bytes);
      lookByStates(expected, bytes);

      if (!isDeepStrictEqual(signs, expected)) expect({ triple, signs }).toEqual({ triple, signs: expected });
    }
  },
);

function bytesBehind(first: number, second: number): number[][] {
  return Array.from({ length: 256 }, (_, third) => [first, second, third]);
}

test('what does not fit into the memory of the kernel is read in parts', () => {
  const text = Buffer.from(
    'id,name\r\n'.repeat(3000) + '1,"a\n""b"""\r\n'.repeat(20_000) + 'a,5" wide\rb\n'.repeat(5000),
  );
  const scan = throughJson(NOTHING_SCANNED);
  const expected = throughJson(NOTHING_SCANNED);

  scanCsv(scan, text, { separator: ',', breaksAtCr: false });
  scanByStates(expected, text, { separator: ',', breaksAtCr: false });

  expect(scan).toEqual(expected);
  expect(scan).toMatchObject({ records: 28_000, doubts: 5000 });
});

test.each(['utf-16le', 'utf-16be'] as const)(
  'of %s, ASCII becomes bytes, and all else a byte without a meaning',
  (encoding) => {
    const unit = fc.oneof(fc.nat(0x100), fc.nat(0xffff));
    const length = fc.oneof(fc.nat(100), fc.constant(70_000));
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 100 }), length, fc.nat(3), (units, count, start) => {
        const bytes = Buffer.alloc(start + 2 * count + (count % 2));
        const expected = Array.from({ length: count }, (_, place) => units[place % units.length] ?? 0);
        expected.forEach((each, place) => {
          if (encoding === 'utf-16le') bytes.writeUInt16LE(each, start + 2 * place);
          else bytes.writeUInt16BE(each, start + 2 * place);
        });

        const narrow = narrowed(bytes.subarray(start), encoding);

        const bytesOf = (unit: number) => (unit < 0x80 ? unit : 0x80 | (unit & 0x7f));
        expect(Buffer.from(narrow).equals(Buffer.from(expected.map(bytesOf)))).toBe(true);
      }),
    );
  },
);

/** How many bytes are left to the state machine. */
function left(read: (byStates: (part: Uint8Array) => void) => void): number {
  let bytes = 0;
  read((part) => {
    bytes += part.length;
  });
  return bytes;
}

test.each([
  ['line feeds', 'id,name\n1,a\n'],
  ['line breaks of Windows', 'id,name\r\n1,a\r\n'],
  ['line breaks in quotation marks', '"id","name"\r\n"1","a\r\n,\r\n"\r\n'],
  ['doubled quotation marks', 'id,name\n1,"a ""b"""\n'],
  ['quotation marks in the middle of a field', 'id,size\n1,5" wide\n'],
  ['empty lines', 'id,name\n1,a\n\n\r\n'],
  ['Hebrew', 'id,name\n1,שלום\n'],
])('the kernel reads all blocks of a text with %s', (_, text) => {
  const bytes = Buffer.from(text.repeat(1000)).subarray(0, 128 * 50);
  const scan = { ...NOTHING_SCANNED, records: 1, width: 2 };

  expect(left((byStates) => readCsv(scan, bytes, ','.charCodeAt(0), null, byStates))).toBe(0);
});

test('the kernel reads all blocks of a text in windows-1255', () => {
  const bytes = Buffer.from('id,\xf9\xec\xe5\xed \xe0\xc8\xe1\n'.repeat(1000), 'latin1').subarray(0, 128 * 50);

  expect(left((byStates) => readHebrew({ ...NO_SIGNS }, bytes, byStates))).toBe(0);
});
