import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dateIn, instantOf, offsetAt } from '../../../core/schedule/local-time.ts';
import { runs } from '../../support/runs.ts';

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
    { numRuns: runs(500) },
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

test.each([
  ['that exists once', 'Asia/Jerusalem', '2026-11-20', '02:00', '2026-11-20T00:00'],
  ['that is skipped', 'Europe/London', '2026-03-29', '01:30', '2026-03-29T01:30'],
  ['that is skipped by half an hour', 'Australia/Lord_Howe', '2026-10-04', '02:15', '2026-10-03T15:45'],
  ['that occurs twice', 'America/New_York', '2026-11-01', '01:30', '2026-11-01T05:30'],
  ['that occurs twice, half an hour apart', 'Australia/Lord_Howe', '2026-04-05', '01:45', '2026-04-04T14:45'],
  ['before a change on its date', 'Pacific/Chatham', '2026-09-27', '00:59', '2026-09-26T12:14'],
  ['after a change on its date', 'Pacific/Chatham', '2026-09-27', '23:30', '2026-09-27T09:45'],
  ['on a date that is skipped', 'Pacific/Apia', '2011-12-30', '00:00', '2011-12-30T10:00'],
  ['after that date', 'Pacific/Apia', '2011-12-31', '00:00', '2011-12-30T10:00'],
])('instantOf returns the instant of a time %s', (_, zone, date, time, instant) => {
  expect(instantOf(zone, date, time).toISOString().slice(0, 16)).toBe(instant);
});
