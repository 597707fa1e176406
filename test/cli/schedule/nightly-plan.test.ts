import { expect, test } from 'vitest';
import { nightlyPlanOf, startText } from '../../../cli/schedule/nightly-plan.ts';
import { deployedOf } from '../../../core/config/deployed.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';

const filters = [{ field: 'updatedAt', operator: 'gte', value: { $date: 'day-1d' } }];
const configured = deployment({ entities: { leads: { filters }, contacts: { filters } } });

test.each<[Entity[], string, string]>([
  [['leads'], '2026-11-19', 'start leads --date 2026-11-19'],
  [['leads', 'contacts'], '2026-11-19', 'start leads contacts --date 2026-11-19'],
  [['meetings'], '2026-11-19', 'start meetings'],
  [['leads', 'meetings'], '2026-11-19', 'start leads meetings'],
  [['meetings'], '2026-11-20', 'start meetings --date 2026-11-20'],
])('the start of %j for %s, on 2026-11-20, is %s', (entities, date, command) => {
  const now = new Date('2026-11-20T12:00:00Z');

  expect(startText(entities, date, nightlyPlanOf(configured), now)).toBe(command);
  // A template has digests in the place of filters.
  expect(startText(entities, date, nightlyPlanOf(deployedOf(configured)), now)).toBe(command);
});
