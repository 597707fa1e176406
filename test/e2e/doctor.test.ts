import { DeleteSecretCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { checksSchema } from '../../cli/health/check.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { createGrantStore } from '../../core/oauth/grant.ts';
import { createLedger, LEASE_MS } from '../../core/oauth/ledger.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { putTokens, storedTokens } from './support/secrets.ts';

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

/** Runs the command with `--json` and the deployed configuration in this process, and returns its checks by id. */
async function checked({ args = [] }: { args?: string[] } = {}) {
  const place = ['--deployment', system.name, '--configuration', system.configurationFile];
  const endpoint = ['--endpoint-url', system.cloud.endpoint];
  const { code, stdout, stderr } = await runCli('doctor', ...place, ...endpoint, ...args, '--json');
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

it('warns of a stale access token, refreshes nothing, and names the option that does', async () => {
  await store(STALE);
  system.sandbox.ledger.clear();

  const { code, at, verdicts } = await checked();

  expect({ code, verdicts }).toMatchObject({ code: 0, verdicts: { 'access-token': 'warning', service: 'unknown' } });
  expect(at('service')?.advice).toContain('--refresh');
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
