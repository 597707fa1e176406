import { expect, test } from 'vitest';
import { freshnessOf } from '../../../core/config/timing.ts';
import { deployment } from '../../support/builders.ts';

const hours = (settings: Parameters<typeof deployment>[0]) => freshnessOf(deployment(settings), 'leads').hours;

test('the freshness alarm waits 24 hours, the deadline and one hour more', () => {
  expect(hours({ polling: { deadlineSeconds: 3600, largestWaitSeconds: 300 } })).toBe(26);
  expect(hours({ polling: { deadlineSeconds: 6 * 3600, largestWaitSeconds: 300 } })).toBe(31);
});

test('the hours of an entity count before those of the deployment, and both before the deadline', () => {
  const alarms = { ...deployment().alarms, freshnessHours: 168 };

  expect(hours({ alarms, entities: { leads: { freshnessHours: 1 } } })).toBe(1);
  expect(hours({ alarms })).toBe(168);
});

test('the freshness alarm waits one hour longer for starts in local time', () => {
  const local = { timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } };

  expect(hours({ ...local, polling: { deadlineSeconds: 3600, largestWaitSeconds: 300 } })).toBe(27);
  expect(hours({ ...local, polling: { deadlineSeconds: 6 * 3600, largestWaitSeconds: 300 } })).toBe(32);
  expect(hours({ ...local, timeZone: 'UTC', polling: { deadlineSeconds: 3600 } }), 'days of 24 hours').toBe(26);
});
