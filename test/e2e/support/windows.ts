import { expect } from 'vitest';
import { createManifests } from '../../../cli/data/stored-manifests.ts';
import type { Target } from '../../../cli/support/target.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { dateAfter } from '../../../core/schedule/local-time.ts';

/** A plan that depends on the date. The sandbox ignores filters with its unknown operator. */
export const WINDOW = {
  filters: [{ field: 'createdAt', operator: 'between', value: [{ $date: 'day-1d' }, { $date: 'day' }] }],
};

/** Expects that exactly these dates are published, each by one run, which requested the records of that date. */
export async function expectWindows(target: Target, entity: Entity, dates: string[]): Promise<void> {
  const manifests = createManifests(target);
  expect(await manifests.dates(entity)).toEqual(dates);
  const published = (await manifests.runs(entity, new Date(0), () => {})).map(({ manifest }) => manifest.run);
  expect(published.map(({ date }) => date).sort()).toEqual(dates);
  for (const { date, kind, request } of published) {
    const filters = [{ field: 'createdAt', operator: 'between', value: [dateAfter(date, -1), date] }];
    expect({ date, kind, filters: request.filters }).toEqual({ date, kind: 'window', filters });
  }
}
