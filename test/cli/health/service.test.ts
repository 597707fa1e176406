import { expect, test } from 'vitest';
import { DOCTOR_QUESTIONS } from '../../../cli/health/doctor.ts';
import { askCrm } from '../../../cli/health/service-checks.ts';
import type { ListedField } from '../../../core/columns/column-changes.ts';
import { planFor } from '../../../core/export/plan.ts';
import { deployment } from '../../support/builders.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import type { ManifestChanges } from '../../support/manifests.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';

const FIELDS = [{ fieldName: 'id', type: 'uuid' }, { fieldName: 'email' }];

interface ServiceOptions {
  /** The CRM's answer to a request for the fields, for every entity. */
  crm?: { status: number; body: string };
  entities?: object;
  parts?: Part[];
  /** The fields of the newest published export of leads. */
  published?: ListedField[];
  /** Other values of its manifest. */
  manifest?: ManifestChanges;
}

/** The findings at a CRM. */
async function foundAt({ crm, entities, parts = [], published, manifest }: ServiceOptions) {
  const { status, body } = { status: 200, body: JSON.stringify(FIELDS), ...crm };
  const url = await servedOnLoopback((_request, _body, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body),
  );
  const baseUrl = `${url}/api/v1`;
  const { target, publish } = await awsWithTarget(...parts);
  if (published) publish({ date: '2026-11-19', manifest: { fields: published, ...manifest } });
  const settings = deployment({ crm: { baseUrl }, entities: { contacts: { enabled: false }, ...entities } });
  const now = () => new Date('2026-11-20T12:00:00Z');
  const times = { obtainedAt: '2026-11-20T11:59:00Z', expiresAt: null, earlierObtainedAt: [] };
  const tokens = { accessToken: 'a', refreshToken: 'r', scope: '', ...times };
  const { service, columns } = await askCrm(settings, tokens, {
    ...{ now, refreshed: true, refreshCommand: 'REFRESH', target },
  });
  return [service, ...columns];
}

test('only warns about an entity whose rule is switched off', async () => {
  const checks = await foundAt({ crm: { status: 400, body: '{}' } });

  const verdicts = Object.fromEntries(checks.map(({ of, verdict }) => [of, verdict]));
  expect(verdicts).toMatchObject({ leads: 'broken', contacts: 'warning' });
});

const field = (name: string, type: string | null = null) => ({ name, type, label: null });

test.each([
  ['warn', 'warning', /^Columns that the CRM has stopped listing since the export of 2026-11-19: "phone"\.$/],
  ['stop', 'broken', /^SchemaChanged: .*"phone"\. \(drift\.removed\) .* start leads --accept-schema\.$/],
])('finds columns that changed since the last export if drift is "%s"', async (removed, verdict, text) => {
  const published = [field('id', 'uuid'), field('email'), field('phone'), field('e_mail')];
  const entities = { leads: { columns: { except: ['eMail'] }, drift: { removed } } };
  const crm = { status: 200, body: JSON.stringify([{ fieldName: 'id', type: 'uuid' }, { fieldName: 'email' }]) };

  const checks = await foundAt({ published, entities, crm });

  expect(checks.filter(({ of }) => of?.endsWith('changed'))).toMatchObject([
    { of: 'leads.changed', verdict, found: expect.stringMatching(text) },
  ]);
});

test('finds no drift without changed columns or a known export, and reports a bucket that denies access', async () => {
  const drift = async (given: ServiceOptions) => (await foundAt(given)).filter(({ of }) => of?.endsWith('changed'));

  expect(await drift({ published: [field('email'), field('id', 'uuid')] })).toEqual([]);
  expect(await drift({})).toEqual([]);
  expect(DOCTOR_QUESTIONS.columns.mayBeUnknown).toBe(true);
  expect(await drift({ parts: [bucketRefuses('AccessDenied', 403)] })).toMatchObject([
    { of: 'changed', verdict: 'unknown' },
  ]);
});

test('an entry of columns.except without a column warns if an earlier export used it, else is broken', async () => {
  const columns = { except: ['nationalId'] } as const;
  const plan = planFor(deployment({ entities: { leads: { columns } } }).entities.leads, { entity: 'leads' }).digest;
  const excepted = [{ entry: 'nationalId', name: 'NationalID', label: null }];
  const published = [field('id', 'uuid'), field('email')];
  const checksOf = async (given: Partial<ServiceOptions>) =>
    Object.fromEntries(
      (await foundAt({ entities: { leads: { columns } }, ...given }))
        .filter(({ of }) => of?.startsWith('leads'))
        .map(({ of, verdict }) => [of, verdict]),
    );

  expect(await checksOf({ published, manifest: { plan, excepted } })).toEqual({
    leads: 'holds',
    'leads.except': 'warning',
  });
  expect(await checksOf({ published: [field('id', 'uuid')], manifest: { plan, excepted } })).toEqual({
    leads: 'broken',
  });
  expect(await checksOf({ published })).toEqual({ leads: 'broken' });
});
