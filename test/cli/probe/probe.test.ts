import { expect, test } from 'vitest';
import { OPEN_POINTS } from '../../../cli/probe/open-points/open-points.ts';
import { probed, sandboxFor } from './support/probed.ts';

test('a CRM that is as assumed is not said to be otherwise in anything', async () => {
  const sandbox = await sandboxFor();

  const { sightings, ended, otherwise, of } = await probed(sandbox);

  expect(ended).toBeNull();
  expect(otherwise).toEqual([]);
  expect(sightings.map(({ id }) => id)).toEqual(OPEN_POINTS.map(({ id }) => id));
  expect(of('header-texts')).toMatchObject({ verdict: 'as assumed', what: 'It has names.' });
  expect(sandbox.ledger.violations()).toEqual([]);
});
