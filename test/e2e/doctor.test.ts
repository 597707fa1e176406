import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DeleteSecretCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { checksSchema } from '../../cli/health/check.ts';
import { deployedConfiguration } from '../../cli/support/deployed-configuration.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { createGrantStore } from '../../core/oauth/grant.ts';
import { createLedger, LEASE_MS } from '../../core/oauth/ledger.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { createOutputsStack } from './support/outputs-stack.ts';
import { putTokens, storedTokens } from './support/secrets.ts';
import { localPlace } from './support/vpc.ts';

/** What the tests themselves stored. `system.issued` has what passed between the product and the CRM. */
const stored = new Set<string>();
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('doctor', { alarms: { email: ['operator@example.com'] } }, { rows: 1 });
});

afterAll(() => system?.close());

afterEach(() => {
  system.sandbox.faults.clear();
});

/** Fails if a command has printed a token or a secret. */
function expectNoSecret(text: string): void {
  expect([...stored, ...system.issued].filter((secret) => text.includes(secret))).toEqual([]);
}

interface DoctorOptions {
  args?: string[];
  deployment?: string;
}

/** The command line with the configuration that was deployed. */
function lineOf({ args = [], deployment = system.name }: DoctorOptions) {
  const place = ['--deployment', deployment, '--configuration', system.configurationFile];
  return ['doctor', ...place, '--endpoint-url', system.cloud.endpoint, ...args];
}

/** Runs the command with `--json` in this process, and returns its checks by id. */
async function checked(look: DoctorOptions = {}) {
  const { code, stdout, stderr } = await runCli(...lineOf({ ...look, args: [...(look.args ?? []), '--json'] }));
  expectNoSecret(stdout);
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const document = checksSchema.parse(JSON.parse(stdout));
  expect(document.ok).toBe(code === 0);
  const verdicts = Object.fromEntries(document.checks.map(({ id, verdict }) => [id, verdict]));
  const at = (id: string) => document.checks.find((check) => check.id === id);
  return { code, verdicts, at, ids: document.checks.map(({ id }) => id) };
}

/** Stores a grant of the sandbox, as if it had just been authorized or refreshed. */
async function store(changes: Partial<Tokens> = {}, scopes?: string[], seconds = 3600): Promise<void> {
  const { accessToken, refreshToken, scopes: given } = system.sandbox.issueTokens({ ...(scopes && { scopes }) });
  const grant = { accessToken, refreshToken, scope: given.join(' '), earlierObtainedAt: [] };
  const now = Date.now();
  const times = { obtainedAt: new Date(now).toISOString(), expiresAt: new Date(now + seconds * 1000).toISOString() };
  await putTokens(system, JSON.stringify({ ...grant, ...times, ...changes }));
  for (const secret of [accessToken, changes.refreshToken ?? refreshToken]) stored.add(secret);
}

/** Deploys a second stack over the same resources, with other addresses. */
async function deployElsewhere(deployment: string, changes: Partial<Deployment['crm']>): Promise<void> {
  const client = new CloudFormationClient(localPlace());
  const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: system.target.stack }));
  const outputs = (Stacks?.[0]?.Outputs ?? []).map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]);
  const deployed = await deployedConfiguration(system.target);
  // No entity is exported every night, so no rule is missed.
  const plans = ENTITIES.map((entity) => [entity, { ...deployed.entities[entity], enabled: false }]);
  const configuration = { ...deployed, entities: Object.fromEntries(plans), crm: { ...deployed.crm, ...changes } };
  await createOutputsStack(deployment, configuration, Object.fromEntries(outputs));
}

const COLUMNS = ENTITIES.map((entity) => `columns.${entity}`);
const NIGHT = ['configuration', 'stack', 'rules', 'alarm-addresses'];
const GRANT = ['client-secret', 'grant', 'ledger', 'grant-stored'];

it('warns after an authorization that no function has refreshed the grant, and refreshes nothing', async () => {
  const before = await storedTokens(system);

  const { code, at, verdicts } = await checked({ args: ['--refresh'] });

  expect(code).toBe(0);
  expect(at('grant-stored')?.advice).toMatch(/ start leads .*--deployment doctor\.$/);
  expect(verdicts).toMatchObject({ 'grant-stored': 'warning', refresh: 'unknown', service: 'holds' });
  expect(await storedTokens(system)).toEqual(before);
});

it('reports that all checks hold once a function has refreshed the grant, and changes nothing', async () => {
  await store({ functionStoredAt: new Date().toISOString() });
  const before = await storedTokens(system);

  const { code, ids, verdicts } = await checked();

  expect(ids).toEqual([...NIGHT, ...GRANT, 'scopes', 'access-token', 'service', ...COLUMNS]);
  expect(new Set(Object.values(verdicts))).toEqual(new Set(['holds']));
  expect(code).toBe(0);
  expect(await storedTokens(system)).toEqual(before);
});

it('--refresh refreshes once by the time of AWS, and reports rotation and lifetime', async () => {
  await store();
  const before = await storedTokens(system);
  const { secrets, dynamo, TokensSecretId, LedgerTableName } = system.target;
  const { versionId } = await createGrantStore(secrets, TokensSecretId).current();
  system.sandbox.ledger.clear();
  const rightTime = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: rightTime - 300_000 });

  const { code, at, verdicts } = await checked({ args: ['--refresh'] }).finally(() => vi.useRealTimers());

  expect({ code, verdicts }).toMatchObject({ code: 0, verdicts: { refresh: 'holds', service: 'holds' } });
  expect(at('refresh')?.found).toMatch(/^Rotation observed: .*; expires_in 3600 s; stored/);
  expect((await storedTokens(system)).refreshToken).not.toBe(before.refreshToken);
  expect(system.sandbox.ledger.count({ kind: 'token' })).toBe(1);
  const spent = await createLedger(dynamo, LedgerTableName, TokensSecretId).read(versionId);
  expect(spent?.state).toBe('STORED');
  expect(Math.abs((spent?.deadline ?? 0) - LEASE_MS - rightTime)).toBeLessThan(200_000);
});

const STALE = { obtainedAt: '2026-01-01T00:00:00.000Z', expiresAt: '2026-01-01T01:00:00.000Z' };

it.each<
  [what: string, given: Partial<Tokens>, args: string[], refresh: string | undefined, command: string, ids: string[]]
>([
  ['a stale access token without --refresh', STALE, [], undefined, '--refresh', ['service']],
  [
    'an expired token of an untried grant',
    { ...STALE, functionStoredAt: null },
    ['--refresh'],
    'unknown',
    ' start leads ',
    ['refresh', 'service', 'access-token', 'grant-stored'],
  ],
])('warns of %s, refreshes nothing, and names the command that does', async (_, given, args, refresh, command, ids) => {
  await store(given);
  system.sandbox.ledger.clear();

  const { code, at, verdicts } = await checked({ args });

  expect({ code, verdicts }).toMatchObject({ code: 0, verdicts: { 'access-token': 'warning', service: 'unknown' } });
  expect(verdicts.refresh).toBe(refresh);
  for (const id of ids) expect(at(id)?.advice).toContain(command);
  expect(system.sandbox.ledger.count()).toBe(0);
});

it('fails if the CRM refuses a valid token, and does not refresh it without --refresh', async () => {
  await store();
  system.sandbox.expireAccessTokens();
  system.sandbox.ledger.clear();

  const { code, at } = await checked();

  expect(code).toBe(1);
  expect(at('service')).toMatchObject({ verdict: 'broken', found: expect.stringContaining('401') });
  expect(at('service')?.advice).toContain('--refresh');
  expect(system.sandbox.ledger.count({ kind: 'token' })).toBe(0);
  expect(await checked({ args: ['--refresh'] })).toMatchObject({ code: 0, verdicts: { service: 'holds' } });
});

it('reports once that the CRM is down', async () => {
  await deployElsewhere('away', { baseUrl: `${DEAD_ADDRESS}/api/v1` });
  const { code, at, ids } = await checked({ deployment: 'away' });

  expect(code).toBe(3);
  expect(at('service')?.found).toContain('ECONNREFUSED');
  expect(ids.filter((id) => id.startsWith('columns.'))).toEqual([]);
});

it('reports that the token endpoint is down or refuses the client, and keeps the grant', async () => {
  await store();
  const before = await storedTokens(system);
  const authUrl = `${DEAD_ADDRESS}/auth`;

  await deployElsewhere('no-tokens', { authUrl });
  const down = await checked({ deployment: 'no-tokens', args: ['--refresh'] });
  system.sandbox.settings.clientSecret = 'another-one';
  const refused = await checked({ args: ['--refresh'] });
  system.sandbox.settings.clientSecret = system.sandbox.clientSecret;

  expect([down.code, refused.code]).toEqual([3, 2]);
  expect(down.at('refresh')?.found).toMatch(/^CrmUnavailable: .*ECONNREFUSED/);
  expect(refused.at('ledger')?.found).toContain('not spent');
  expect(refused.at('refresh')?.found).toMatch(/^ConfigInvalid: .*invalid_client/);
  expect(await storedTokens(system)).toEqual(before);
});

it('reports a dead grant at the refresh, and later without a request to the CRM', async () => {
  await store({ refreshToken: 'rt_worth-nothing-at-all' });

  const first = await checked({ args: ['--refresh'] });
  system.sandbox.ledger.clear();
  const second = await checked({ args: ['--refresh', '--region', 'us-east-1'] });

  expect([first.code, second.code]).toEqual([1, 1]);
  expect(first.at('refresh')?.found).toMatch(/^ReauthorizationRequired: .*invalid_grant/);
  expect(second.at('ledger')).toMatchObject({
    verdict: 'broken',
    found: expect.stringMatching(/ dead since .*invalid_grant/),
    // The advice repeats the options of this command, which found this grant.
    advice: `Authorize again: ${CRM_EXPORT} authorize --region us-east-1 --endpoint-url ${system.cloud.endpoint} --deployment doctor.`,
  });
  expect(second.verdicts.refresh).toBe('unknown');
  expect(system.sandbox.ledger.count({ kind: 'token' })).toBe(0);
});

it('reports an unreadable and a missing grant, with the command to repair it', async () => {
  await putTokens(system, 'not-json-but-a-canary');
  stored.add('not-json-but-a-canary');
  const broken = await checked({ args: ['--refresh'] });
  const { secrets, TokensSecretId: SecretId } = system.target;
  await secrets.send(new DeleteSecretCommand({ SecretId, ForceDeleteWithoutRecovery: true }));
  const missing = await checked();

  expect([broken.code, missing.code]).toEqual([2, 2]);
  expect(broken.verdicts).toMatchObject({ grant: 'broken', ledger: 'holds', refresh: 'unknown', service: 'unknown' });
  expect(missing.at('grant')?.found).toContain(`${CRM_EXPORT} authorize`);
});
