import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isObservable, OPEN_POINTS } from '../../../cli/probe/open-points/open-points.ts';
import { notMet } from '../../../cli/probe/probe.ts';

const grant = {
  ...{ from: 'stored' as const, clientAuthentication: 'basic', clientRefused: null, scope: '' },
  ...{ lifeSeconds: null, oddLife: false, ageSeconds: 0 },
};

test.each(OPEN_POINTS)('the module that assumes $id is there, and its setting is one', (row) => {
  expect(existsSync(row.assumedIn)).toBe(true);
  if (!('setting' in row)) return;
  const table = readFileSync('docs/configuration.md', 'utf8');
  const [setting] = row.setting.split('.labels');
  expect(table).toContain(`| \`${setting}\``);
});

test('each point has a name of its own', () => {
  expect(new Set(OPEN_POINTS.map(({ id }) => id)).size).toBe(OPEN_POINTS.length);
});

test('a point that cannot be seen is never as assumed, and says why; of the others nothing is said where nothing was seen', () => {
  const { sightings } = notMet(grant, [], { sentence: '', code: 1 });
  const verdictOf = (id: string) => sightings.find((one) => one.id === id)?.verdict;

  for (const row of OPEN_POINTS) {
    if (!isObservable(row)) expect(verdictOf(row.id), row.id).toBe('cannot be seen');
    // That a token has no known life is assumed already.
    else if (row.id !== 'expires-in') expect(verdictOf(row.id), row.id).toBe('not seen');
  }
});
