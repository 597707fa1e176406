import { expect, test } from 'vitest';
import { tonightFindings } from '../../../cli/doctor/tonight.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';
import { aws } from '../support/cloud/cloud.ts';

const now = () => new Date('2026-11-21T08:00:00.000Z');
const OFF = { enabled: false };
const ALL_OFF = Object.fromEntries(ENTITIES.map((entity) => [entity, OFF]));
const leadsAlone = (leads: object) => deployment({ entities: { ...ALL_OFF, leads } });

/** What doctor says of leads, of which one export is published. */
async function said(leads: object, content: string, { read = false, manifest = {} } = {}) {
  const { publish, target } = await aws();
  publish({ entity: 'leads', date: '2026-11-20', execution: 'night-1', content, manifest });
  return tonightFindings(target, leadsAlone(leads), { now, read });
}

test('a newest export that passes the gate of today says so', async () => {
  expect(await said({}, 'id,name\n1,a\n')).toMatchObject([
    { verdict: 'holds', found: "The newest exports of 1 entities pass the gate of today's settings." },
  ]);
});

test('what the settings of today promise, and the newest export does not show, would withhold tonight', async () => {
  const checks = await said({ guards: { minRows: 500 } }, 'id,name\n1,a\n');

  expect(checks).toMatchObject([
    {
      of: 'leads',
      verdict: 'warning',
      found: 'A file of leads like that of 2026-11-20 would be withheld: it has 1 row (minRows 500).',
    },
  ]);
});

test('a column that is left out by now would withhold tonight for good', async () => {
  const checks = await said({ columns: { except: ['NAME'] } }, 'id,name\n1,a\n');

  expect(checks).toMatchObject([{ of: 'leads', verdict: 'broken', exitCode: 1 }]);
  expect(checks[0]?.found).toContain('columns.except');
});

test('the bytes are read where a person asks for it: a manifest may say less than they do', async () => {
  const cut = 'id,name\n1,a\n2,b\n3\n';
  const guards = { maxIrregularShare: 0.9 };

  expect(await said({ guards }, cut)).toMatchObject([{ verdict: 'holds' }]);
  expect(await said({ guards }, cut, { read: true })).toMatchObject([
    { of: 'leads', verdict: 'warning', found: expect.stringContaining('ends with a record of another width') },
  ]);
});

test('a file that is no export under the settings of today is said by the name of the error', async () => {
  const checks = await said({}, '<html><body>503</body></html>', { read: true });

  expect(checks).toMatchObject([{ of: 'leads', verdict: 'broken', found: expect.stringMatching(/^FileRejected: /) }]);
});

test('an entity without an export is named, and fails nothing', async () => {
  const { target } = await aws();

  expect(await tonightFindings(target, leadsAlone({}), { now })).toMatchObject([
    { of: 'first', verdict: 'holds', found: 'Of leads nothing is published that could be looked at.' },
  ]);
});
