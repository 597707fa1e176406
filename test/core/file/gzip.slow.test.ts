import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RunErrorName } from '../../../core/errors.ts';
import { readContent } from '../../../core/file/read-content.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';

const ROWS = Array.from({ length: 40 }, (_, row) => `${row},name ${row}\n`).join('');
const CSV = `id,name\n${ROWS}`;
const PACKED = gzipSync(CSV);

const read = (bytes: Uint8Array, chunkBytes?: number, settings = {}) =>
  readContent(bytesSource(bytes, chunkBytes), reading(settings));

const facts = { format: 'csv', compression: 'gzip', rows: 40 };

test.each([1, 3, PACKED.length, 64_000])(
  'refuses gzip that is cut off anywhere, in pieces of %i bytes',
  async (size) => {
    for (let end = 2; end < PACKED.length; end += 1) {
      await failureOf(read(PACKED.subarray(0, end), size), 'FileRejected');
    }
  },
);

test('refuses gzip with a flipped bit anywhere, or reads the same content', async () => {
  for (let place = 0; place < PACKED.length * 8; place += 1) {
    const damaged = Buffer.from(PACKED);
    damaged[place >> 3] = (damaged[place >> 3] ?? 0) ^ (1 << (place & 7));
    const known = await read(damaged).catch((error: Error) => error.name);

    // Some header bits only describe when and where the file was packed.
    if (known !== 'FileRejected') expect(known).toMatchObject({ facts });
  }
});

describe('consecutive gzip members', () => {
  const half = CSV.slice(0, 200);
  const rest = CSV.slice(200);
  const members = Buffer.concat([gzipSync(half), gzipSync(''), gzipSync(rest)]);

  test.each([1, 5, gzipSync(half).length, 64_000])('are one file, in pieces of %i bytes', async (size) => {
    expect((await read(members, size)).facts).toMatchObject(facts);
  });

  test('are refused if the last one is cut off anywhere but at its beginning', async () => {
    const whole = [gzipSync(half).length, members.length - gzipSync(rest).length];
    for (let end = whole[0] ?? 0; end < members.length; end += 1) {
      if (whole.includes(end)) continue;
      await failureOf(read(members.subarray(0, end)), 'FileRejected');
    }
  });
});

describe('after the last gzip member', () => {
  test.each([1, 3, PACKED.length, 64_000])('zeros are allowed, in pieces of %i bytes', async (size) => {
    expect((await read(Buffer.concat([PACKED, Buffer.alloc(1000)]), size)).facts).toMatchObject(facts);
  });

  test.each<[string, Uint8Array]>([
    ['text', Buffer.from('ERROR: timeout')],
    ['text after zeros', Buffer.from('\0\0\0ERROR: timeout')],
    ['another member after zeros', Buffer.concat([Buffer.alloc(3), gzipSync('9,x\n')])],
    ['the first byte of another member', Buffer.from([0x1f])],
  ])('%s is refused', async (_, behind) => {
    for (const size of [1, 3, PACKED.length, 64_000]) {
      await failureOf(read(Buffer.concat([PACKED, behind]), size), 'FileRejected');
    }
  });

  test.each(['\n', '\r\n', 'text'])('%j is not called a cut', async (behind) => {
    const failure = await failureOf(read(Buffer.concat([PACKED, Buffer.from(behind)])), 'FileRejected');
    expect(failure.message).toContain('other bytes');
  });
});

describe('the header of gzip', () => {
  /** The file with flags and optional fields in its header. */
  const withFields = (flags: number, fields: string) => {
    const bytes = Buffer.from(PACKED);
    bytes[3] = flags;
    return Buffer.concat([bytes.subarray(0, 10), Buffer.from(fields, 'latin1'), bytes.subarray(10)]);
  };
  const NAME = 'the name of the file in the archive';
  const OTHERS = 'other names, comments or extra fields of the archive';

  test.each<[string, number, string, string[]]>([
    ['nothing', 0, '', []],
    ['a name of usual words and dates', 8, 'leads_2026-11-26.csv\0', []],
    ['an unusual name', 8, 'Dan Cohen.csv\0', [NAME]],
    ['a number as a name', 8, '039123456.csv\0', [NAME]],
    ['a very long name', 8, `${'leads '.repeat(50)}\0`, [OTHERS]],
    ['a comment', 16, 'Dan Cohen\0', [OTHERS]],
    ['an extra field', 4, '\x07\0AB\x03\0Dan', [OTHERS]],
    ['a name after an extra field, and a comment', 28, '\x07\0AB\x03\0DanDan.csv\0Dan\0', [OTHERS, NAME]],
  ])(
    'includes %s, and unusual texts of any member count as values elsewhere',
    async (_, flags, fields, elsewhereKinds) => {
      const packed = withFields(flags, fields);
      const found = { elsewhere: elsewhereKinds.length, elsewhereKinds };

      expect((await read(packed)).facts).toMatchObject({ rows: 40, content: found });
      for (const size of [1, 7, 64_000]) {
        const { facts } = await read(Buffer.concat([PACKED, packed, gzipSync('')]), size);
        expect(facts).toMatchObject({ rows: 80, content: found });
      }
    },
  );
});

test('a header with a name of several megabytes is refused as damaged', async () => {
  const header = Buffer.from('\x1f\x8b\x08\x08\0\0\0\0\0\0', 'latin1');

  const failure = await failureOf(read(Buffer.concat([header, Buffer.alloc(3_000_000, 'x')])), 'FileRejected');

  expect(failure.message).toContain('damaged');
});

describe('a gzip bomb', () => {
  const bombOf = (bytes: number) =>
    gzipSync(Buffer.concat([Buffer.from('id,name\n'), Buffer.alloc(bytes, '1,a\n')]), { level: 9 });
  const bomb = bombOf(300_000_000);

  test.each<[string, RunErrorName, object]>([
    ['more content than files.maxBytes', 'DownloadTooLarge', { maxBytes: 20_000_000 }],
    ['more content than there is time for', 'CheckUnfinished', { secondsLeft: countdown(500) }],
  ])('with %s ends with a named error, and uses less than 200 MB of memory', async (_, name, settings) => {
    const before = process.memoryUsage.rss();

    const error = await failureOf(read(bomb, undefined, settings), name);

    expect(error.message).toMatch(/ MB (of content|were read)/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
  });
});

/** A clock that loses a second at each call. */
function countdown(seconds: number): () => number {
  let left = seconds;
  return () => {
    left -= 1;
    return left;
  };
}
