import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Dialect, fileOf } from '../../support/dialect.ts';
import type { EndOfNight } from '../../support/nights.ts';
import { CANARY, oddNights, outcomeOf, type Setting, WIDE_COLUMNS } from '../../support/odd-nights.ts';
import { runs } from '../../support/runs.ts';

/**
 * Nights of services that write the same export every night, each in a form of its own: a good file is published with the
 * right facts, and a file with a fault is withheld.
 */

interface Service extends Required<Omit<Dialect, 'header' | 'format' | 'packed'>> {
  format: 'csv' | 'xlsx';
  packed: Dialect['packed'];
  /** The requested columns, of which the last is required. */
  columns: string[];
  header: keyof typeof HEADERS;
  /** Whether `nationalId` is left out. */
  except: boolean;
  /** A line above the header. */
  title: boolean;
  /** Which records end with an empty cell. */
  trailing: 'none' | 'header' | 'rows';
  finalBreak: boolean;
  /** A text with signs that have a meaning in CSV or XML, in some cells. */
  odd: string;
  rows: number;
  /** Whether DownloadFile names the files by their first bytes. */
  named: boolean;
}

const LABELS = ['מזהה', 'שם', 'טלפון', 'עיר', 'רחוב', 'מיקוד'];
const TOLD = ['Kennung', 'Wer', 'Telefon', 'Ort', 'Gasse', 'Code'];
const HEADERS = {
  names: (name: string) => name,
  labels: (_: string, place: number) => LABELS[place] ?? '',
  capitals: (name: string) => name.toUpperCase(),
  paths: (name: string) => `lead.${name}`,
  /** Texts of `columns.labels`. */
  told: (_: string, place: number) => TOLD[place] ?? '',
  none: () => '',
};
const FIELDS = WIDE_COLUMNS.slice(0, LABELS.length);
const HEADED = ['names', 'labels', 'capitals', 'paths', 'told'] as const;

const columns = fc.subarray(FIELDS.slice(1), { minLength: 2 }).map((others) => ['id', ...others]);
const services: fc.Arbitrary<Service> = fc.record({
  columns,
  header: fc.constantFrom(...HEADED, 'none' as const),
  format: fc.constantFrom('csv', 'csv', 'xlsx'),
  separator: fc.constantFrom(',', ';', '\t'),
  lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
  encoding: fc.constantFrom('utf-8', 'utf-16le', 'windows-1255'),
  byteOrderMark: fc.boolean(),
  separatorLine: fc.boolean(),
  packed: fc.constantFrom(undefined, undefined, 'gzip', 'zip'),
  except: fc.boolean(),
  title: fc.boolean(),
  trailing: fc.constantFrom('none', 'none', 'header', 'rows'),
  finalBreak: fc.boolean(),
  odd: fc.constantFrom('', ', ', '; ', ' "quoted" ', '\t', 'two\nlines', 'two\r\nlines', ' x ', '<&>'),
  rows: fc.integer({ min: 24, max: 60 }),
  named: fc.boolean(),
});

/** Without a header, only the width of its rows shows that a file is the export. */
const fitting = (service: Service): Service =>
  service.header === 'none' ? { ...service, title: false, trailing: 'none', except: false } : service;

/** The header and the rows of a good file. */
function recordsOf(
  { columns, header, odd, trailing }: Service,
  count: number,
): [header: string[], ...rows: string[][]] {
  const texts = columns.map((name) => HEADERS[header](name, FIELDS.indexOf(name)));
  const rows = Array.from({ length: count }, (_, row) =>
    columns.map((name, at) => {
      if (name === 'id') return `${row}`;
      if (at === 1) return row % 9 === 0 ? '' : `דנה ${row}${row % 5 === 0 ? odd : ''}`;
      return `${name} ${row}`;
    }),
  );
  const ended = (of: Service['trailing'], cells: string[]) => (trailing === of ? [...cells, ''] : cells);
  return [ended('header', texts), ...rows.map((cells) => ended('rows', cells))];
}

function bytesOf({ header, title, finalBreak, ...service }: Service, [first, ...rows]: string[][]): Buffer {
  const above = [...(title ? [['Leads of November']] : []), ...(header === 'none' ? [] : [first ?? []])];
  const form = { ...service, byteOrderMark: service.byteOrderMark && service.encoding !== 'windows-1255', finalBreak };
  return fileOf([...above, ...rows], form);
}

/** A good night of a service, then one with these bytes. */
async function nightsOf(service: Service, bytes: Buffer): Promise<EndOfNight> {
  const { columns, header, except, named, rows } = service;
  const chosen = {
    required: columns.slice(-1),
    ...(except && { except: ['nationalId'] }),
    ...(header === 'told' && { labels: Object.fromEntries(TOLD.map((text, place) => [text, FIELDS[place]])) }),
    ...(header === 'none' && { header }),
  };
  const setting: Setting = { columns, except, leads: { columns: chosen, drift: { added: 'stop', removed: 'stop' } } };
  const nights = oddNights(setting);
  await nights.next(bytesOf(service, recordsOf(service, rows + 1)), { named });
  return nights.next(bytes, { named });
}

test('publishes every good file of a service, with its rows and columns', async () => {
  await fc.assert(
    fc.asyncProperty(services.map(fitting), async (service) => {
      const { columns, header, format, rows } = service;

      const end = await nightsOf(service, bytesOf(service, recordsOf(service, rows)));

      expect(end).toMatchObject({ ended: 'PUBLISHED', cause: '' });
      const compression = service.packed ?? null;
      if (format === 'csv') expect(end.manifest?.file.dialect).toEqual(dialectOf(service));
      const names = end.manifest?.file.header?.filter((name) => name !== '') ?? null;
      expect(end.manifest?.file).toMatchObject({ format, compression, rows });
      expect(names).toEqual(header === 'none' ? null : columns);
    }),
    { numRuns: runs(600) },
  );
});

const BREAKS = { '\n': 'lf', '\r\n': 'crlf', '\r': 'cr' };
const dialectOf = ({ encoding, separator, separatorLine, lineBreak, byteOrderMark }: Service) => ({
  ...{ encoding, separator, separatorLine, lineBreak: BREAKS[lineBreak] },
  byteOrderMark: byteOrderMark && encoding !== 'windows-1255',
});

interface Fault {
  /** The services whose promise the fault breaks. */
  of?: Partial<Service>;
  records?: (records: [string[], ...string[][]], text: string) => string[][];
  /** @param place from 0 to 1 */
  bytes?: (bytes: Buffer, place: number) => Buffer;
  withheld: RegExp;
}

/** Texts above a column that is left out. */
const DISGUISES = fc.constantFrom(
  ...['nationalId', 'NATIONAL_ID', 'תעודת זהות', 'lead.nationalId', 'nationalId (text)', '\u200fתעודת זהות'],
  ...['', '\u200b', 'Passport'],
);
const secret = (row: number) => `${CANARY}${row}`;
const cutAt = (bytes: Buffer, place: number) => bytes.subarray(0, 1 + Math.floor(place * (bytes.length - 2)));
const FOR_GOOD = /^for good: (?:.*, )?excepted|^FileRejected$/;
const EXCEPT = { except: true, header: 'names' } as const;

const FAULTS: Record<string, Fault> = {
  'a left-out column': {
    of: EXCEPT,
    records: ([header, ...rows], text) => [[...header, text], ...rows.map((cells, row) => [...cells, secret(row)])],
    withheld: FOR_GOOD,
  },
  'a left-out column instead of another': {
    of: { ...EXCEPT, trailing: 'none' },
    records: ([header, ...rows], text) => [
      header.with(-1, text),
      ...rows.map((cells, row) => cells.with(-1, secret(row))),
    ],
    withheld: FOR_GOOD,
  },
  'a value beyond the header in one row': {
    of: EXCEPT,
    records: (records) => records.with(9, [...(records[9] ?? []), '', secret(9)]),
    withheld: FOR_GOOD,
  },
  'a left-out column below a header further down': {
    of: { ...EXCEPT, trailing: 'none' },
    records: ([header, ...rows]) => [header, ...rows, header.with(-1, 'nationalId'), header.with(-1, secret(1))],
    withheld: FOR_GOOD,
  },
  'two rows': { records: (records) => records.slice(0, 3), withheld: /maxShrink/ },
  'no column that is required': {
    of: { trailing: 'none' },
    records: (records) => records.map((cells) => cells.slice(0, -1)),
    withheld: /required|FileRejected/,
  },
  'one column more': {
    of: { header: 'names', except: false, trailing: 'none' },
    records: ([header, ...rows]) => [[...header, 'region'], ...rows.map((cells) => [...cells, 'north'])],
    withheld: /header/,
  },
  'its rows twice, each time below the header': {
    of: { header: 'names' },
    records: (records) => [...records, ...records],
    withheld: /repeatedHeader/,
  },
  'rows in another order below another header': {
    of: { header: 'names', trailing: 'none' },
    records: (records) => [...records, ...records.slice(0, 9).map((cells) => cells.toReversed())],
    withheld: /otherHeader/,
  },
  'the text of an error as its last row': {
    records: (records) => [...records, ['ERROR: canceling statement due to timeout']],
    withheld: /lastRecord/,
  },
  'a text without its last characters': {
    of: { format: 'csv', packed: undefined, finalBreak: true },
    bytes: (bytes, place) => bytes.subarray(0, -2 - Math.floor(place * 6)),
    withheld: /lastLineBreak|FileRejected/,
  },
  'a cut archive': { of: { packed: 'zip' }, bytes: cutAt, withheld: /FileRejected/ },
  'cut gzip': { of: { packed: 'gzip' }, bytes: cutAt, withheld: /FileRejected/ },
  'a cut spreadsheet': { of: { format: 'xlsx', packed: undefined }, bytes: cutAt, withheld: /FileRejected/ },
};

test.each(Object.entries(FAULTS))(
  'withholds a file of a service with %s',
  async (_, { of, records, bytes, withheld }) => {
    await fc.assert(
      fc.asyncProperty(services, DISGUISES, fc.double({ min: 0, max: 1, noNaN: true }), async (drawn, text, place) => {
        const service = fitting({ ...drawn, ...of });
        const good = recordsOf(service, service.rows);
        const written = bytesOf(service, records?.(good, text) ?? good);

        const end = await nightsOf(service, bytes?.(written, place) ?? written);

        expect(outcomeOf(end)).toMatch(withheld);
      }),
      { numRuns: runs(100) },
    );
  },
);
