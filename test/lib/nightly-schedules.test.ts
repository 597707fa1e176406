import { expect, test } from 'vitest';
import { updatingDeployment } from '../../scripts/deployments.ts';
import { warningsOf } from './support/stack.ts';

const OFF = { 'agent-numbers': { enabled: false }, workflows: { enabled: false } };
const WEEKLY = { schedule: 'cron(0 1 ? * SUN *)' };

test('synthesis warns of a short retention, of a night over local midnight, and of entities that never start', () => {
  const entities = {
    ...OFF,
    leads: WEEKLY,
    contacts: { schedule: 'cron(0 2 30 2 ? *)' },
    customers: { schedule: 'cron(0 2 * * ? 2020)' },
    employers: { schedule: 'cron(0 2 30 2 ? *)', enabled: false },
  };
  const night = { timeZone: 'Asia/Jerusalem', nightly: { at: '23:50', spreadMinutes: 7 } };

  expect(warningsOf(updatingDeployment({ retentionDays: 7, entities }))).toEqual(
    expect.arrayContaining(['history-leads', 'never-starts-contacts', 'never-starts-customers']),
  );
  expect(warningsOf(updatingDeployment(night))).toEqual(['night-spans-midnight']);
});

test('synthesis does not warn of eight days for a weekly start, of a leap day, or of a night after midnight', () => {
  const entities = { leads: WEEKLY, customers: { schedule: 'cron(0 2 29 2 ? *)' }, meetings: { enabled: false } };
  const nightly = { at: '00:10', spreadMinutes: 7 };
  const deployment = updatingDeployment({ retentionDays: 8, timeZone: 'Asia/Jerusalem', nightly, entities });

  expect(warningsOf(deployment)).toEqual(['history-customers']);
});
