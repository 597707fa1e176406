import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dateIn, dateProblem } from '../../../core/export/logical-date.ts';

const ZONES = [...Intl.supportedValuesOf('timeZone'), 'UTC', 'Etc/GMT-14', 'Etc/GMT+12', '+05:30'];
const years = (from: number, to: number) =>
  fc.date({ min: new Date(Date.UTC(from, 0, 3)), max: new Date(Date.UTC(to, 11, 29)), noInvalidDate: true });

/** Milliseconds that a zone is ahead of UTC at a moment. */
function ahead(timeZone: string, time: Date): number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(name) ?? [];
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -offset : offset;
}

/** The same by another way: the moment is shifted by what the zone is ahead, and read in UTC. */
const shifted = (timeZone: string, time: Date) =>
  new Date(time.getTime() + ahead(timeZone, time)).toISOString().slice(0, 10);

test('in every zone, at any moment of two centuries, the date is the one that its calendars show', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), years(1900, 2100), (zone, time) => {
      expect(dateIn(zone, time)).toBe(shifted(zone, time));
    }),
    { numRuns: 500 },
  );
});

test('at midnight, wherever that is, one date ends and the next begins', () => {
  const side = fc.constantFrom(-1, 0, 1);
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), years(1950, 2100), side, (zone, day, milliseconds) => {
      const midnight = new Date(day).setUTCHours(0, 0, 0, 0) - ahead(zone, day);
      const time = new Date(midnight + milliseconds);
      expect(dateIn(zone, time)).toBe(shifted(zone, time));
    }),
    { numRuns: 500 },
  );
});

test('any moment at all has a date by which it can be judged', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), fc.date({ noInvalidDate: true }), (zone, time) => {
      expect(dateIn(zone, time)).toMatch(/^(\d{4}|[+-]\d{6})-\d\d-\d\d$/);
    }),
  );
  expect(dateIn('UTC', new Date('0001-01-01T00:00:00Z'))).toBe('0001-01-01');
  expect(dateIn('UTC', new Date('0000-12-31T00:00:00Z'))).toBe('0000-12-31');
  expect(dateIn('UTC', new Date('+275760-09-13T00:00:00Z'))).toBe('+275760-09-13');
});

test.for(['th_TH', 'fa_IR', 'ar_EG', 'ar_SA', 'ja_JP', 'he_IL', 'C'])(
  'the language and the calendar of the machine change nothing: %s',
  (locale) => {
    const code = `import { dateIn } from './core/export/logical-date.ts';
      process.stdout.write(dateIn('Asia/Jerusalem', new Date('2026-11-20T23:30:00Z')));`;
    const env = { ...process.env, LC_ALL: `${locale}.UTF-8`, LANG: `${locale}.UTF-8` };
    const date = execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, encoding: 'utf8' });
    expect(date).toBe('2026-11-21');
  },
);

const TODAY = '2026-11-20';
test.for([TODAY, '2026-11-19', '2000-01-01'])('%s is a date for an export', (date) => {
  expect(dateProblem(date, TODAY, 'UTC')).toBeUndefined();
});

test.for(['2026-11-21', '2099-01-01', '1999-12-31', '1970-01-01', '0001-01-01', '0000-01-01', '+010000-01-01'])(
  '%s is none, and the sentence says which are',
  (date) => {
    expect(dateProblem(date, TODAY, 'UTC')).toBe(
      `${date} is no date for an export: they go from 2000-01-01 to today, 2026-11-20 in UTC.`,
    );
  },
);
