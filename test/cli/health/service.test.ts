import { expect, test } from 'vitest';
import type { Finding } from '../../../cli/health/check.ts';
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
import { expectFindings } from '../support/findings.ts';

const FIELDS = [{ fieldName: 'id', type: 'uuid' }, { fieldName: 'email' }];

interface ServiceOptions {
  /** The CRM's answer to a request for the fields, for every entity. */
  crm?: { status: number; body: string };
  entities?: object;
  parts?: Part[];
  /** The fields of the newest published export of leads. */
  published?: ListedField[];
  manifest?: ManifestChanges;
}

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

const field = (name: string, type: string | null = null) => ({ name, type, label: null });
const before = [field('id', 'uuid'), field('email'), field('phone'), field('e_mail')];
const drifting = (removed: string) => ({ leads: { columns: { except: ['eMail'] }, drift: { removed } } });
const columns = { except: ['nationalId'] } as const;
const entities = { leads: { columns } };
const plan = planFor(deployment({ entities }).entities.leads, { entity: 'leads' }).digest;
const manifest = { plan, excepted: [{ entry: 'nationalId', name: 'NationalID', label: null }] };
const alike = [field('email'), field('id', 'uuid')];

const ROWS: [what: string, at: ServiceOptions][] = [
  ['no published export', {}],
  ['a published export with the same columns', { published: alike }],
  ['a column that is gone, if drift is "warn"', { published: before, entities: drifting('warn') }],
  ['a column that is gone, if drift is "stop"', { published: before, entities: drifting('stop') }],
  ['an entry without a column, which an earlier export used', { entities, published: alike, manifest }],
  ['an entry without a column, of an export that did not list it', { entities, published: [field('id')], manifest }],
  ['an entry without a column, which no export used', { entities, published: alike }],
  ['a bucket that denies access', { parts: [bucketRefuses('AccessDenied', 403)] }],
  ['a CRM that refuses', { crm: { status: 400, body: '{}' } }],
];

test('the columns of the CRM are compared with the settings and the last export; an entity that is off only warns', async () => {
  const found = ROWS.map(async ([what, at]) => {
    const [service, ...findings] = await foundAt(at);
    const shown = findings.filter(({ of }) => !of || /^(leads|contacts|changed)/.test(of));
    return [what, ...[service, ...shown].flatMap((one) => one ?? []).map(untimed)] as const;
  });

  await expectFindings('service-findings', await Promise.all(found));
  expect(DOCTOR_QUESTIONS.columns.mayBeUnknown).toBe(true);
});

const untimed = (finding: Finding) => ({ ...finding, found: finding.found.replace(/\d+ ms/, '9 ms') });
