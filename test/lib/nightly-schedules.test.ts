import { expect, test } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { updatingDeployment } from '../../scripts/deployments.ts';
import { warningsOf } from './support/warnings.ts';

test('synthesis warns if retentionDays is too short for checks between two starts of an entity', () => {
  const others = Object.fromEntries(
    ENTITIES.filter((entity) => entity !== 'leads').map((entity) => [entity, { enabled: false }]),
  );
  const weekly = { ...others, leads: { schedule: 'cron(0 1 ? * SUN *)' } };

  expect(warningsOf(updatingDeployment({ retentionDays: 7, entities: weekly }))).toEqual([
    'Checks of leads have no earlier files to compare with: exports are kept for 7 days (retentionDays), and from one start to the next it may be 7 days. Keep them for longer.',
  ]);
  expect(warningsOf(updatingDeployment({ retentionDays: 8, entities: weekly }))).toEqual([]);
  expect(warningsOf(updatingDeployment({ retentionDays: 1, entities: others }))).toHaveLength(1);
  expect(warningsOf(updatingDeployment({ retentionDays: 2, entities: others }))).toEqual([]);
});

test('synthesis warns of a night that spans local midnight, because its runs have two dates', () => {
  const night = (at: string) => updatingDeployment({ timeZone: 'Asia/Jerusalem', nightly: { at, spreadMinutes: 7 } });

  expect(warningsOf(night('23:50'), 'spans midnight')).toEqual([expect.stringContaining('midnight in Asia/Jerusalem')]);
  expect(warningsOf(night('00:10'), 'spans midnight')).toEqual([]);
});

test('synthesis warns of an entity that never starts', () => {
  const entities = {
    leads: { schedule: 'cron(0 2 30 2 ? *)' },
    contacts: { schedule: 'cron(0 2 * * ? 2020)' },
    customers: { schedule: 'cron(0 2 29 2 ? *)' },
    meetings: { schedule: 'rate(400 days)' },
    employers: { schedule: 'cron(0 2 30 2 ? *)', enabled: false },
  };

  const warnings = warningsOf(updatingDeployment({ entities }), 'starts no run');
  expect(warnings).toEqual(['leads', 'contacts'].map((entity) => expect.stringContaining(entity)));
});
