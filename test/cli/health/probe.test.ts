import { expect, onTestFinished, test } from 'vitest';
import { probeReportSchema } from '../../../cli/health/probe.ts';
import type { FaultInput } from '../../../sandbox/faults.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox-settings.ts';
import { CANARY } from '../../support/builders.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { eventually } from '../../support/project.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { grant, storedTokens } from '../support/cloud/grant.ts';
import { type Configuration, configured } from '../support/cloud/stack.ts';
import { type CliResult, startCli } from '../support/run-cli.ts';

/** A CRM whose exports are ready at the first status request and have a canary in every value. */
async function sandboxFor(options: SandboxOptions = {}, faults: FaultInput[] = []): Promise<Sandbox> {
  const sandbox = await startSandbox({ rows: 5, jobChecks: 1, canary: CANARY, ...options });
  onTestFinished(() => sandbox.close());
  for (const fault of faults) sandbox.faults.add(fault);
  return sandbox;
}

type Addresses = Pick<Sandbox, 'baseUrl' | 'authUrl' | 'issueTokens'> &
  Partial<Pick<Sandbox, 'clientId' | 'clientSecret'>>;

/** A cloud with a deployment of this CRM and a stored grant. */
async function deployedFor(
  { baseUrl, authUrl, issueTokens, clientId, clientSecret }: Addresses,
  tokens: object = {},
  more: Configuration = {},
) {
  const { accessToken, refreshToken, scopes } = issueTokens();
  const obtainedAt = new Date().toISOString();
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const stored = { accessToken, refreshToken, scope: scopes.join(' '), obtainedAt, expiresAt };
  const client = JSON.stringify({ clientId, clientSecret });
  const secrets = grant({ client, tokens: storedTokens({ ...stored, ...tokens }) });
  return aws(configured({ ...more, crm: { baseUrl, authUrl } }), secrets);
}

const writes = (asked: string[]) => asked.filter((call) => /Put|Update/.test(call));

const untried = (secondsLeft: number) => ({
  functionStoredAt: null,
  obtainedAt: new Date(Date.now() - 3_590_000).toISOString(),
  expiresAt: new Date(Date.now() + secondsLeft * 1000).toISOString(),
});
const at = (path: FaultInput['path'], status: number, headers: Record<string, string> = {}): FaultInput => ({
  ...{ path, entity: 'leads', answer: { status, headers } },
});

interface Met {
  sandbox?: SandboxOptions;
  faults?: FaultInput[];
  tokens?: object;
  leads?: object;
  args?: string[];
}

/** What a probe meets, its exit code, and how often it makes a call. */
const ROWS: [what: string, code: number, kind: FaultInput['path'], calls: number, met: Met][] = [
  ['a file at another host', 1, 'file', 0, { sandbox: { rewrite: atAnotherHost } }],
  ['a grant that names no scopes', 0, 'file', 1, { tokens: { scope: '' } }],
  ['extra keys that no file on this machine has', 0, 'create', 1, { leads: { extra: { tenant: CANARY } } }],
  ['settings with which a run stops', 2, 'create', 0, { leads: { columns: { except: ['emial-adress'] } } }],
  ['a refused token', 1, 'fields', 1, { faults: [at('fields', 401)] }],
  ['another scheme', 1, 'fields', 1, { faults: [at('fields', 401, { 'www-authenticate': 'DPoP error="x"' })] }],
  ['an unknown entity', 2, 'fields', 1, { faults: [at('fields', 404)], args: ['--entity', 'leads'] }],
  ['too many requests', 3, 'fields', 1, { faults: [at('fields', 429)] }],
  ['a CRM that is down', 3, 'fields', 1, { faults: [at('fields', 503)] }],
  ['a refused export', 1, 'create', 1, { faults: [at('create', 403)] }],
  ['too many exports', 3, 'create', 1, { faults: [at('create', 429)] }],
  ['an export that fails', 1, 'status', 1, { faults: [{ path: 'status', status: 'FAILED' }] }],
  ['a file that is refused', 1, 'file', 1, { faults: [{ path: 'file', answer: { status: 403 } }] }],
  ['a token that no function has refreshed yet', 0, 'file', 1, { tokens: untried(60) }],
  ['an expired token that no function has refreshed', 1, 'fields', 0, { tokens: untried(-10) }],
];

/** Lines that only the first screen shows. */
const USUAL = /^ {2}GET .* -> 200 .*\n|^· .* The probe ended before this point\.\n/gm;

async function atAnotherHost(answer: Response, kind: string) {
  if (kind !== 'create' && kind !== 'download') return answer;
  const body = (await answer.text()).replace('"id"', '"uuid"').replace('127.0.0.1', 'files.crm.example');
  return new Response(body, answer);
}

test('prints each call and all points without a value, and why it ended; it repeats no call', async () => {
  const results: [string, CliResult][] = [];
  for (const [what, code, kind, calls, { sandbox: options, faults, tokens, leads, args = [] }] of ROWS) {
    const sandbox = await sandboxFor(options, faults);
    const cloud = await deployedFor(sandbox, tokens, leads && { entities: { leads } });

    const result = await cloud.cli('probe', ...args);

    const shown = result.shown.replace(/\d+ ms/g, '9 ms').replace(/\(20\S+Z\)/, '(TIME)');
    results.push([what, { ...result, shown: results.length === 0 ? shown : shown.replace(USUAL, '') }]);
    expect([what, result.code, sandbox.ledger.count({ kind })]).toEqual([what, code, calls]);
    expect(sandbox.ledger.count({ kind: 'token' }), what).toBe(0);
    expect(writes(cloud.asked), what).toEqual([]);
  }

  await expectResults('probe', results);
  expect(results.filter(([, { shown }]) => shown.includes(CANARY))).toEqual([]);
});

test('--json prints one document, and a token that is not due is not refreshed', async () => {
  const sandbox = await sandboxFor();
  const cloud = await deployedFor(sandbox);

  const { code, stdout } = await cloud.cli('probe', '--entity', 'meetings', '--json');

  const report = probeReportSchema.parse(JSON.parse(stdout));
  expect({ code, ...report }).toMatchObject({ code: 0, ok: true, entity: 'meetings', ended: null });
  expect(report.calls.map(({ call }) => call).slice(0, 2)).toEqual(['GET /meetings/fields', 'GET /leads/fields']);
  expect(stdout).not.toContain(CANARY);
  expect(sandbox.ledger.count({ kind: 'token' })).toBe(0);
  expect(writes(cloud.asked)).toEqual([]);
});

test('shows a call that the CRM did not accept a connection for', async () => {
  const baseUrl = `${DEAD_ADDRESS}/api/v1`;
  const { code, stdout } = await (await deployedFor({ ...(await sandboxFor()), baseUrl })).cli('probe', '--json');

  const report = probeReportSchema.parse(JSON.parse(stdout));
  expect(report.calls).toMatchObject([{ call: 'GET /leads/fields', status: null }]);
  expect(code).not.toBe(0);
});

test('exports one column once, not a left-out one, and sends no filters or other settings', async () => {
  const sandbox = await sandboxFor();
  const leads = { columns: { except: ['ID'] }, sendEmail: true, filters: [{ field: 'x' }] };

  await (await deployedFor(sandbox, {}, { entities: { leads } })).cli('probe');

  const creates = sandbox.ledger.calls({ kind: 'create' });
  expect(creates).toHaveLength(1);
  expect(creates[0]?.request).toEqual({ columns: [expect.not.stringMatching(/^id$/)] });
});

test('Ctrl-C ends the probe at once with its findings, and makes no further call', async () => {
  const sandbox = await sandboxFor({ jobChecks: 9 });
  const { soFar, ended } = startCli('probe', ...(await deployedFor(sandbox)).place);
  await eventually(() => soFar.stdout.includes('GET /leads/exports/{id} ->'));

  process.emit('SIGINT');
  const { code, stdout, stderr } = await ended;

  expect(code).toBe(130);
  expect(stdout).toMatch(/^✓ export-id-field /m);
  await expectTexts('probe-interrupted', [['Ctrl-C during a call', stderr]]);
  expect(sandbox.ledger.count({ kind: 'status' })).toBe(1);
  expect(sandbox.ledger.count({ kind: 'file' })).toBe(0);
});

test('Ctrl-C during a refresh waits until the new tokens are stored, and then makes no call', async () => {
  const sandbox = await sandboxFor({}, [{ path: 'token', delaySeconds: 1000 }]);
  const expiresAt = new Date(Date.now() - 10_000).toISOString();
  const functionStoredAt = new Date(Date.now() - 3_600_000).toISOString();
  const cloud = await deployedFor(sandbox, { expiresAt, functionStoredAt });
  const { ended } = startCli('probe', ...cloud.place);
  await eventually(() => sandbox.ledger.count({ kind: 'token' }) === 1);

  process.emit('SIGINT');
  sandbox.faults.clear();
  const { code, stdout, stderr } = await ended;

  expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
  await expectTexts('probe-not-begun', [['Ctrl-C before the first call', stderr]]);
  expect(writes(cloud.asked).join()).toContain('PutSecretValue');
  expect(sandbox.ledger.count({ kind: 'fields' })).toBe(0);
});
