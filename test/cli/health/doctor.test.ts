import { describe, expect, it, test } from 'vitest';
import { broken, type Checked, type Finding, holds, unknown, warning } from '../../../cli/health/check.ts';
import { exitCodeOf, linesOf } from '../../../cli/health/doctor.ts';
import { configured, withExtraKeys } from '../../../cli/health/doctor-configuration.ts';
import {
  accessTokenFinding,
  clientFinding,
  grantFinding,
  ledgerFinding,
  refreshFinding,
  scopesFinding,
  storedFinding,
} from '../../../cli/health/grant-checks.ts';
import { columnsFindings } from '../../../cli/health/service-checks.ts';
import { ConfigurationError } from '../../../core/config/configuration.ts';
import { deployedOf, metadataOf } from '../../../core/config/deployed.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import type { LedgerItem } from '../../../core/oauth/ledger.ts';
import type { Tokens } from '../../../core/oauth/secrets.ts';
import { deployment } from '../../support/builders.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { tempFile } from '../../support/project.ts';
import { expectTexts } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { halfStack, template } from '../support/cloud/stack.ts';
import { expectFindings } from '../support/findings.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const around = { now: NOW, refreshCommand: 'REFRESH' };
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000).toISOString();
const tokens = (changes: Partial<Tokens> = {}): Tokens => ({
  refreshToken: 'rt-canary',
  accessToken: 'at-canary',
  scope: 'openid global:export',
  obtainedAt: minutes(-10),
  expiresAt: minutes(50),
  earlierObtainedAt: [],
  ...changes,
});
const tokenSet = (versionId: string, changes: Partial<Tokens> = {}) => ({ versionId, tokens: tokens(changes) });

const checkedAs = (id: string, finding: Finding): Checked => ({ ...finding, id, question: 'Is it?', rights: [] });

describe('checks', () => {
  it('take the exit code from the first check that is broken', () => {
    const checks = [
      checkedAs('a', holds('A.')),
      checkedAs('b', warning('B.', 'Do b.')),
      checkedAs('c', broken('C.', 'Do c.', 3)),
      checkedAs('d', broken('D.', '-', 2)),
    ];

    expect(exitCodeOf(checks)).toBe(3);
    expect(exitCodeOf(checks.slice(0, 2))).toBe(0);
  });

  it('print failures first, then one line of what passed, and end with what that means for a night', async () => {
    const bad = checkedAs('d', broken('D.', 'Do d.', 3));
    const mixed = [checkedAs('a', holds('A.')), checkedAs('b', warning('B.', 'Do b.')), checkedAs('c', unknown('C.'))];
    const grant = checkedAs('grant', holds('There.'));
    const service = checkedAs('service', holds('It answers.'));
    const untried = checkedAs('service', unknown('Not looked at.', 'Look.'));
    const rules = (finding: Finding) => checkedAs('rules', finding);
    const ends: [string, Checked[], boolean?][] = [
      ['every verdict', [...mixed, bad, checkedAs('e', holds('E.'))]],
      ['every verdict, with --all', [...mixed, bad, checkedAs('e', holds('E.'))], true],
      ['all is well', [grant, service]],
      ['the grant was not tried', [grant, untried]],
      ['the refreshed grant was not tried', [checkedAs('refresh', holds('Done.')), untried]],
      ['something is unknown', [grant, checkedAs('ledger', unknown('No right.', null, 3))]],
      ['no function has stored the grant', [checkedAs('grant-stored', warning('None has.', 'Start a run.')), service]],
      ['a rule is gone', [rules(broken('Gone.', 'Deploy.')), service]],
      ['all rules are off', [rules(warning('All off.', 'Set.')), service]],
      ['the rules are unknown', [rules(unknown('No right.')), service]],
      ['a rule and the grant', [rules(broken('Gone.', '-')), checkedAs('grant', broken('Dead.', '-'))]],
    ];

    await expectTexts(
      'doctor-ends',
      ends.map(([what, checks, all]) => [what, linesOf(checks, {}, all).join('\n')]),
    );
  });
});

const item = (changes: Partial<LedgerItem>): LedgerItem => ({
  ...{ state: 'CLAIMED', owner: 'o', deadline: NOW.getTime() + 30_000, unanswered: 0, unansweredSince: 0 },
  ...{ refusals: 0, reason: '', diedAt: '' },
  ...changes,
});
const passed = { deadline: NOW.getTime() - 1000 };
const later = { deadline: NOW.getTime() + 1_500_000 };
const lost = { unansweredSince: NOW.getTime() - 60_000, reason: 'The token endpoint did not answer (ECONNRESET).' };

test('the ledger and the stored grant each have a finding for every state', async () => {
  const ledger: [string, LedgerItem | undefined][] = [
    ['unclaimed', undefined],
    ['given back', item({ deadline: 0 })],
    ['claimed by a clock that is ahead', item({ deadline: NOW.getTime() + 50_000 })],
    ['claimed', item({})],
    ['paused because the CRM does not answer', item({ ...later, ...lost, unanswered: 2 })],
    ['refused with an unrecognised code', item({ ...later, refusals: 3, reason: 'The token endpoint answered 400.' })],
    ['claimed by a process that died', item(passed)],
    ['unanswered, and claimable again', item({ ...passed, ...lost, unanswered: 9 })],
    ['replaced by a grant that the secret does not have', item({ state: 'STORED' })],
    ['dead', item({ state: 'DEAD', reason: 'said \u001b[31mno', diedAt: minutes(-1) })],
  ];
  const grants: [string, Partial<Tokens>][] = [
    ['with an expiry', {}],
    ['without an expiry', { expiresAt: null }],
    ['with too many earlier grants', { earlierObtainedAt: Array(94).fill(minutes(-60)) }],
  ];
  const access: [string, Partial<Tokens>][] = [
    ['valid', {}],
    ['expired', { obtainedAt: minutes(-70), expiresAt: minutes(-10) }],
    ['without an expiry', { expiresAt: null }],
  ];
  const stored: [string, Partial<Tokens>][] = [
    ['by a function', { functionStoredAt: minutes(-60) }],
    ['by an earlier release', {}],
    ['by no function yet', { functionStoredAt: null }],
  ];
  const refreshed: [string, ReturnType<typeof tokenSet>][] = [
    ['rotated', tokenSet('v2', { refreshToken: 'rt-new' })],
    ['not rotated', tokenSet('v2')],
    ['not stored', tokenSet('v1')],
  ];

  await expectFindings('grant-findings', [
    ...ledger.map(([what, state]) => [`Ledger: ${what}`, ledgerFinding(state, around)] as const),
    ...grants.map(([what, changes]) => [`Grant: ${what}`, grantFinding(tokenSet('v1', changes), NOW)] as const),
    ...access.map(([what, changes]) => [`Access token: ${what}`, accessTokenFinding(tokens(changes), around)] as const),
    ...stored.map(([what, changes]) => [`Stored: ${what}`, storedFinding(tokens(changes))] as const),
    ...refreshed.map(([what, after]) => [`Refresh: ${what}`, refreshFinding(tokenSet('v1'), after)] as const),
  ]);
});

test('the client and the scopes of the grant are compared with the configuration', async () => {
  const client = { clientId: 'a', clientSecret: 's' };
  const clients: [string, typeof client, Partial<Tokens>][] = [
    ['of a grant without a client id, from an earlier release', client, {}],
    ['of the grant', client, { clientId: 'a' }],
    ['of another grant', client, { clientId: 'b' }],
    ['without its secret', { clientId: 'a', clientSecret: '' }, { clientId: 'a' }],
  ];
  const scopes: [string, string[]][] = [
    ['profile openid global:export', ['openid', 'profile', 'global:export']],
    ['global:export', ['openid', 'profile', 'global:export']],
    ['global:export', ['global:export', 'customers:update']],
    ['', ['openid', 'global:export']],
  ];

  await expectFindings('client-findings', [
    ...clients.map(([what, stored, of]) => [`Client: ${what}`, clientFinding(stored, of, deployment().crm)] as const),
    ...scopes.map(
      ([scope, needed]) =>
        [`Scopes "${scope}", of ${needed.join(' ')}`, scopesFinding(tokens({ scope }), needed)] as const,
    ),
  ]);
});

test('the column settings are compared with the columns of the CRM', async () => {
  const rows: [columns: object, names: string[]][] = [
    [{}, ['id', 'name']],
    [['id'], ['id', 'name']],
    [{ except: ['name'], required: ['phone'] }, ['id', 'name', 'phone']],
    [['nmae'], ['id', 'name']],
    [{ required: ['phone'] }, ['id', 'name']],
    [{ except: ['nmae'] }, ['id', 'name']],
    [{ except: ['cell'] }, ['id', 'phone', 'Cell', 'c-ell']],
  ];
  const found = (columns: object, names: string[]) => {
    const fields = names.map((name) => ({ name, label: null, type: null }));
    return columnsFindings(deployment({ entities: { leads: { columns } } }), 'leads', fields, undefined);
  };

  await expectFindings(
    'column-findings',
    rows.map(([columns, names]) => [`${JSON.stringify(columns)} of ${names.join(', ')}`, ...found(columns, names)]),
  );
});

it('doctor stops at a stack that is only partly deployed', async () => {
  const { cli } = await aws(halfStack());
  const crm = { baseUrl: `${DEAD_ADDRESS}/api/v1`, authUrl: DEAD_ADDRESS };
  const configuration = tempFile(JSON.stringify({ local: true, crm }), 'half.json');

  const { code, stdout } = await cli('doctor', '--configuration', configuration, '--json');

  expect(code).toBe(3);
  expect(JSON.parse(stdout).checks).toMatchObject([
    { id: 'configuration', verdict: 'holds' },
    { id: 'stack', verdict: 'broken', found: expect.stringContaining('ROLLBACK_COMPLETE') },
  ]);
});

const crm = { baseUrl: 'http://127.0.0.1:8080/api/v1', authUrl: 'http://127.0.0.1:8080/auth' };
const PUBLIC = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://auth.example.com' };
const filters = [{ field: 'status', value: 'open' }];
const leads = { columns: { except: ['notes'] }, filters, extra: { archive: true } };
const file = { local: true, crm, entities: { leads } };
const deployed = deployedOf(deploymentSchema.parse(file));

function optionsWith(content: object | string) {
  const configuration = tempFile(typeof content === 'string' ? content : JSON.stringify(content), 'prod.json');
  return { deployment: 'prod', configuration, endpointUrl: DEAD_ADDRESS };
}
const configuredBy = (content: object | string, known = true) =>
  configured(optionsWith(content), known ? deployed : undefined);

test('compares the configuration file with what is deployed, and shows no hidden value', async () => {
  const there = { ...crm, baseUrl: `${DEAD_ADDRESS}/api/v1` };
  const changed = { leads: { ...leads, extra: { archive: 'canary' } }, contacts: { enabled: false } };
  const names = Array.from({ length: 500 }, (_, n) => `column_${n}`);
  const files: [string, object][] = [
    ['the deployed file', file],
    ['with other addresses', { ...file, crm: there }],
    ['with other settings', { ...file, entities: changed }],
    ['with a long list', { ...file, entities: { leads: { ...leads, columns: names } } }],
    ['invalid', { crm: { ...crm, baseUrl: 'nowhere' } }],
  ];
  const local = configured({ deployment: 'local', endpointUrl: DEAD_ADDRESS }, deployed);
  const missing = configured({ deployment: 'missing' }, deployed);
  const found = files.map(([what, content]) => [what, configuredBy(content)] as const);
  const all = [...found, ['config/local.json', local] as const, ['missing', missing] as const];

  await expectFindings(
    'configuration-findings',
    all.map(([what, { finding }]) => [what, finding]),
  );
  // The deployed addresses are the ones that are checked. Its template hides filters, which come from the file.
  for (const [, { deployment }] of all) expect(deployment.crm).toMatchObject(crm);
  expect(found[0]?.[1].deployment.entities.leads).toMatchObject(leads);
});

test.each([
  ['the deployed ones', { archive: true }, []],
  ['others', { archive: 'canary' }, ['leads']],
])('extra keys of requests come from a file that has %s', (_, extra, unknown) => {
  const known = withExtraKeys(optionsWith({ ...file, entities: { leads: { ...leads, extra } } }), deployed);
  expect(known.unknown).toEqual(unknown);
  expect(known.deployment.entities.leads.extra).toEqual(unknown.length === 0 ? extra : {});
  expect(withExtraKeys({ deployment: 'missing' }, deployed).unknown).toEqual(['leads']);
});

test('before a first deployment, requires the file and checks it', () => {
  const { deployment, finding } = configuredBy(file, false);
  expect(deployment).toMatchObject({ crm });
  expect(finding).toMatchObject({ verdict: 'holds' });
  expect(() => configuredBy('{', false)).toThrow(ConfigurationError);
  expect(() => configured({ deployment: 'missing' }, undefined)).toThrow(ConfigurationError);
});

test('if an entity is not deployed yet, advises a deployment and checks the file', async () => {
  const { meetings: _, ...entities } = deployed.entities;
  const older = metadataOf({ ...deployed, entities: entities as typeof deployed.entities });
  const { cli, endpoint } = await aws(template({ Metadata: older, Resources: {} }));
  const configuration = tempFile(JSON.stringify({ ...file, local: false, crm: PUBLIC }), 'test.json');

  const { code, stdout } = await cli('doctor', '--configuration', configuration);

  expect(code).toBe(2);
  expect(stdout).toMatch(/^✕ configuration: .*^\? service: /ms);
  expect(stdout).toContain(`AWS_ENDPOINT_URL=${endpoint}`);
});
