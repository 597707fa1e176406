import { expect, test } from 'vitest';
import { updatingDeployment } from '../../scripts/deployments.ts';
import { warningsOf } from './support/warnings.ts';

test('synthesis warns of a night that spans local midnight, because its runs have two dates', () => {
  const night = (at: string) => updatingDeployment({ timeZone: 'Asia/Jerusalem', nightly: { at, spreadMinutes: 7 } });

  expect(warningsOf(night('23:50'), 'spans midnight')).toEqual([expect.stringContaining('midnight in Asia/Jerusalem')]);
  expect(warningsOf(night('00:10'), 'spans midnight')).toEqual([]);
});

test.each([
  ['cron(0 2 30 2 ? *)', 1],
  ['cron(0 2 * * ? 2020)', 1],
  ['cron(0 2 29 2 ? *)', 0],
  ['rate(400 days)', 0],
])('for the schedule %s, synthesis gives %i warnings of an entity that never starts', (schedule, count) => {
  const entities = { leads: { schedule }, contacts: { schedule, enabled: false } };

  expect(warningsOf(updatingDeployment({ entities }), 'starts no run')).toHaveLength(count);
});
