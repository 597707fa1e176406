import { expect, test } from 'vitest';
import { localStarts } from '../../../cli/doctor/starts.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { timingOf } from '../../../core/config/timing.ts';
import { deployment } from '../../support/builders.ts';

const NOW = new Date('2026-11-22T12:00:00Z');
const night = deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00', spreadMinutes: 0 } });

/** What is said where these rules differ from what a deployment now would make. */
function check(changed: Partial<Record<Entity, string>> = {}, deployed = night) {
  const made = ENTITIES.map((entity) => [entity, changed[entity] ?? timingOf(night, entity).expression] as const);
  return localStarts(async () => new Map(made), deployed, NOW);
}

test('rules that were made by the zone data of today are fine', async () => {
  expect(await check()).toEqual([expect.objectContaining({ verdict: 'holds' })]);
});

test('a rule that was made before summer time was introduced is named, with the first night that starts at another time', async () => {
  const [found] = await check({ leads: 'cron(0 0 * * ? *)', meetings: 'rate(1 day)' });

  expect(found).toMatchObject({ verdict: 'warning', advice: expect.stringContaining('Deploy again') });
  // In Israel summer time begins on the Friday before the last Sunday of March.
  expect(found?.found).toContain('leads from 2027-03-27 on (02:00 is 23:00 UTC)');
  expect(found?.found).toContain('meetings from 2026-11-23 on (02:00 is 00:00 UTC)');
});

test('nothing is said of starts in UTC', async () => {
  expect(await check({}, deployment())).toEqual([]);
});
