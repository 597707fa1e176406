import { expect, test } from 'vitest';
import { deployedPlan } from '../../../cli/schedule/deployed-plan.ts';
import { connect } from '../../../cli/support/target.ts';
import { cronOf, offsetsFrom, timeOf, utcStartsOf } from '../../../core/schedule/utc-starts.ts';
import { aws } from '../support/cloud/cloud.ts';
import { fleet } from '../support/cloud/fleet.ts';

const IN_2026 = new Date('2026-11-20T12:00:00Z');

async function planOf(schedule: string, timeZone: string, now = IN_2026) {
  const { endpoint } = await aws(...fleet([{ name: 'one', schedule, timeZone, paused: ['meetings'] }]));
  return deployedPlan(await connect({ deployment: 'one', endpointUrl: endpoint }), now);
}

test('the plan is that of the rules: their zone, their starts, and which of them are on', async () => {
  const plan = await planOf('cron(30 4 * * ? *)', 'Asia/Jerusalem');

  expect(plan.timeZone).toBe('Asia/Jerusalem');
  expect(plan.timing.leads).toMatchObject({ starts: ['04:30'], at: null });
  expect([plan.enabled.leads, plan.enabled.meetings]).toEqual([true, false]);
});

test('a schedule that is not once a day stays one', async () => {
  const plan = await planOf('rate(6 hours)', 'UTC');

  expect(plan.timing.leads).toMatchObject({ expression: 'rate(6 hours)', starts: null, at: null });
});

test.each(['Asia/Jerusalem', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca'])(
  'a start in local time is known again by its expression: no two times of %s have one',
  async (timeZone) => {
    const offsets = offsetsFrom(2026, timeZone);
    const times = Array.from({ length: 24 * 4 }, (_, quarter) => timeOf(quarter * 15));
    const expressions = times.map((time) => cronOf(utcStartsOf(time, offsets)));

    expect(new Set(expressions).size).toBe(times.length);
    for (const index of [0, 1, 13, 95]) {
      expect((await planOf(expressions[index] ?? '', timeZone)).timing.leads.at).toBe(times[index]);
    }
  },
);

// The first two change their clocks no more from 2027 on, by the zone data of 2026.
test.each(['Africa/Casablanca', 'America/Vancouver', 'Asia/Jerusalem'])(
  'rules that were made in 2026 are those of a local time of %s for as long as they hold, though its clocks change no more',
  async (timeZone) => {
    const starts = utcStartsOf('02:30', offsetsFrom(2026, timeZone));

    for (const now of ['2027-01-01T00:00:00Z', '2028-02-29T12:00:00Z', '2036-12-31T23:59:00Z']) {
      const plan = await planOf(cronOf(starts), timeZone, new Date(now));
      expect(plan.timing.leads).toMatchObject({ at: '02:30', starts });
    }
  },
);

test('in a zone whose clocks never change a local start is the one in UTC, once a day', async () => {
  const plan = await planOf('cron(30 21 * * ? *)', 'Asia/Tokyo');

  expect(plan.timing.leads).toMatchObject({ timeZone: 'Asia/Tokyo', starts: ['21:30'], at: null });
});
