import { expect, test } from 'vitest';
import { lookForLink } from '../../../cli/probe/conversation/export-answers.ts';
import { sightingsOf } from '../../../cli/probe/sightings/observers.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import type { FaultInput } from '../../../sandbox/world/fault-schema.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import { probed, sandboxFor } from './support/probed.ts';

const refusing = (path: FaultInput['path'], status: number): FaultInput => ({ path, answer: { status } });

/** A CRM that answers this to everything. */
function answering(body: string, type = 'application/json') {
  return servedOnLoopback((_, __, response) => response.writeHead(200, { 'content-type': type }).end(body));
}

test('a page of a sign-in in place of every answer does not show how a token is presented', async () => {
  const { of } = await probed({ baseUrl: `${await answering('<html>Sign in</html>', 'text/html')}/api/v1` });

  expect(of('token-presentation').verdict).toBe('not seen');
});

test('fields that are answered show nothing of the token where an export is refused with 401', async () => {
  const { of } = await probed(await sandboxFor({ jobChecks: 1 }, [refusing('create', 401)]));

  expect(of('token-presentation').verdict).toBe('not seen');
});

test.each<FaultInput['path']>(['create', 'update'])(
  'a 401 to %s alone is no end of a token that is taken for something else',
  async (path) => {
    const sandbox = await sandboxFor({ jobChecks: 1 }, [refusing(path, 401)]);

    const { of } = await probed(sandbox, { change: { customer: idAt('customers', 0), fields: { city: 'x' } } });

    expect(of('expires-in').verdict).toBe('as assumed');
  },
);

test('a filter of another shape that makes the file smaller is otherwise, and one that is refused shows nothing', async () => {
  const filters = [{ field: 'id', operator: 'contains', value: idAt('leads', 0) }];
  const other = [{ name: 'id', is: idAt('leads', 0) }];

  const taken = await probed(await sandboxFor({ jobChecks: 1 }), { filters });
  const refused = await probed(await sandboxFor({ jobChecks: 1, takesFilters: false }), { filters: other });

  expect(taken.of('filter-definition').verdict).toBe('as assumed');
  expect(sightingsOf({ ...taken.conversation, otherFilter: true })).toContainEqual(
    expect.objectContaining({ id: 'filter-definition', verdict: 'otherwise', means: 'tolerated' }),
  );
  expect(refused.of('filter-definition').verdict).toBe('not seen');
});

test('filters go from the configuration as they are, so a setting expresses another shape', async () => {
  const filters = [{ field: 'id', operator: 'contains', value: idAt('leads', 0) }];

  const { of } = await probed(await sandboxFor({ jobChecks: 1, takesFilters: false }), { filters });

  expect(of('filter-definition')).toMatchObject({ verdict: 'otherwise', means: 'setting' });
});

test('an early refusal shows nothing where the CRM refuses the file of a finished export as well', async () => {
  const { of } = await probed(await sandboxFor({}, [refusing('download', 415)]), { early: true });

  expect(of('early-download').verdict).toBe('not seen');
});

test('a scope beside that of exports leaves open which of them counts', async () => {
  const grant = { from: 'stored', clientAuthentication: 'basic', clientRefused: null, oddLife: false } as const;
  const scope = 'openid global:export exports:read';

  const { of } = await probed(await sandboxFor({ jobChecks: 1 }), {
    grant: { ...grant, scope, lifeSeconds: null, ageSeconds: 0 },
  });

  expect(of('export-scope')).toEqual(expect.objectContaining({ verdict: 'not seen' }));
});

test.each([
  ['expires=300', null],
  ['exp=1', null],
  ['se=2026-11-23', 5_392_000],
  ['expires=1790000300', 300],
  ['X-Amz-Expires=60', 60],
])('an address with %s lives %s s', (query, life) => {
  const answer = { url: `https://files.crm.test/x?${query}` };
  const options = { isListed: () => true, baseUrl: 'https://crm.test', now: new Date(1_790_000_000_000) };

  expect(lookForLink(answer, options).seen.lifeSeconds).toBe(life);
});

test('an answer that breaks off shows nothing of its shape', async () => {
  const sandbox = await sandboxFor({}, [{ path: 'fields', entity: 'meetings', hangUp: 20 }]);
  const silent = await servedOnLoopback((_, __, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('[');
    setTimeout(() => response.destroy(), 10);
  });

  const once = await probed(sandbox);
  const always = await probed({ baseUrl: `${silent}/api/v1` });

  expect(once.of('fields-shape')).toMatchObject({ verdict: 'as assumed', what: expect.stringContaining('6 lists') });
  expect(always.otherwise).toEqual([]);
  expect(always.ended).toMatchObject({ code: 3, sentence: expect.stringContaining('(a body that broke off') });
});
