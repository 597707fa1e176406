import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dateAfter, dateIn, instantOf, offsetAt } from '../../../core/schedule/local-time.ts';

const ZONES = [...Intl.supportedValuesOf('timeZone'), 'UTC', 'Etc/GMT-14', 'Etc/GMT+12', '+05:30'];
const years = (from: number, to: number) =>
  fc.date({ min: new Date(Date.UTC(from, 0, 3)), max: new Date(Date.UTC(to, 11, 29)), noInvalidDate: true });

/** The local date by another way: this locale writes YYYY-MM-DD. */
const shown = (timeZone: string, time: Date) => new Intl.DateTimeFormat('en-CA', { timeZone }).format(time);

test('dateIn changes the date at midnight in any zone', () => {
  const side = fc.constantFrom(-1, 0, 1);
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), years(1950, 2100), side, (zone, day, milliseconds) => {
      const midnight = new Date(day).setUTCHours(0, 0, 0, 0) - offsetAt(zone, day.getTime());
      const time = new Date(midnight + milliseconds);
      expect(dateIn(zone, time)).toBe(shown(zone, time));
    }),
    { numRuns: 500 },
  );
});

test('dateIn writes years of four digits, whatever the locale of the machine', () => {
  const code = `import { dateIn } from './core/schedule/local-time.ts';
    process.stdout.write(dateIn('Asia/Jerusalem', new Date('2026-11-20T23:30:00Z')));`;
  const env = { ...process.env, LC_ALL: 'fa_IR.UTF-8', LANG: 'fa_IR.UTF-8' };

  const date = execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, encoding: 'utf8' });
  expect(date).toBe('2026-11-21');
  expect(dateIn('UTC', new Date('0000-12-31T00:00:00Z'))).toBe('0000-12-31');
});

test('instantOf returns the same instants as Temporal around every clock change', () => {
  const zones = [
    ...['Asia/Jerusalem', 'Europe/London', 'America/New_York', 'America/Santiago', 'Africa/Cairo'],
    ...['Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Chatham', 'America/Nuuk', 'America/Havana'],
  ];
  const asked = zones.flatMap((zone) =>
    changesOf(zone).flatMap((date) =>
      ['00:00', '00:59', '01:30', '02:00', '23:30'].map((time) => ({ zone, date, time })),
    ),
  );

  const instants = asked.map(({ zone, date, time }) => instantOf(zone, date, time).toISOString());

  expect(asked.length).toBeGreaterThan(1500);
  expect(instants).toEqual(byTemporal(asked));
});

test('a date that a zone skips begins at the same instant as the next date', () => {
  const begin = (date: string) => instantOf('Pacific/Apia', date, '00:00').toISOString();

  expect(begin('2011-12-30')).toBe('2011-12-30T10:00:00.000Z');
  expect(begin('2011-12-31')).toBe('2011-12-30T10:00:00.000Z');
});

/** The dates around each clock change from 2024 to 2030. */
function changesOf(zone: string): string[] {
  const days = Array.from({ length: 7 * 365 }, (_, day) => dateAfter('2024-01-02', day));
  const noon = (date: string) => offsetAt(zone, Date.parse(`${date}T12:00Z`));
  const changes = days.filter((date) => noon(date) !== noon(dateAfter(date, -1)));
  return changes.flatMap((date) => [-1, 0, 1].map((step) => dateAfter(date, step)));
}

/** Computes with Temporal, which Node offers behind a flag. */
function byTemporal(asked: { zone: string; date: string; time: string }[]): string[] {
  const code = `
    const asked = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
    const instants = asked.map(({ zone, date, time }) => {
      const zoned = Temporal.PlainDateTime.from(date + 'T' + time).toZonedDateTime(zone);
      return new Date(zoned.epochMilliseconds).toISOString();
    });
    process.stdout.write(JSON.stringify(instants));`;
  const options = ['--harmony-temporal', '-e', code];
  return JSON.parse(execFileSync(process.execPath, options, { input: JSON.stringify(asked), encoding: 'utf8' }));
}
