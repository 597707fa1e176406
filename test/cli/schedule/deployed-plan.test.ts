import { expect, test } from 'vitest';
import { deployedPlan } from '../../../cli/schedule/deployed-plan.ts';
import { connect } from '../../../cli/support/target.ts';
import { offsetsNow } from '../../../core/config/timing.ts';
import { cronOf, timeOf, utcStartsOf } from '../../../core/schedule/utc-starts.ts';
import { fleetCloud } from '../support/fleet-cloud.ts';

async function planOf(schedule: string, timeZone: string) {
  const { endpoint } = await fleetCloud([{ name: 'one', schedule, timeZone, paused: ['meetings'] }]);
  return deployedPlan(await connect({ deployment: 'one', endpointUrl: endpoint }));
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
    const offsets = offsetsNow(timeZone);
    const times = Array.from({ length: 24 * 4 }, (_, quarter) => timeOf(quarter * 15));
    const expressions = times.map((time) => cronOf(utcStartsOf(time, offsets)));

    expect(new Set(expressions).size).toBe(times.length);
    for (const index of [0, 1, 13, 95]) {
      expect((await planOf(expressions[index] ?? '', timeZone)).timing.leads.at).toBe(times[index]);
    }
  },
);
