import { expect, onTestFinished, test, vi } from 'vitest';
import { probeReportSchema } from '../../../cli/health/probe.ts';
import type { FaultInput } from '../../../sandbox/faults.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox-settings.ts';
import { CANARY } from '../../support/builders.ts';
import { deadAddress } from '../../support/http-server.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import { refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Configuration, configured, OUTPUTS } from '../support/cloud/stack.ts';
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

/** A cloud with a deployment of this CRM and a stored grant. A new grant can be stored once. */
async function deployedFor(
  { baseUrl, authUrl, issueTokens, clientId, clientSecret }: Addresses,
  tokens: object = {},
  more: Configuration = {},
) {
  const { accessToken, refreshToken, scopes } = issueTokens();
  const obtainedAt = new Date().toISOString();
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const grant = { accessToken, refreshToken, scope: scopes.join(' '), obtainedAt, expiresAt, earlierObtainedAt: [] };
  return aws(configured({ ...more, crm: { baseUrl, authUrl } }), {
    GetSecretValue: ({ input }) => {
      if (input.SecretId === OUTPUTS.ClientSecretId)
        return { VersionId: 'v1', SecretString: JSON.stringify({ clientId, clientSecret }) };
      if (!('VersionStage' in input)) return refused('ResourceNotFoundException');
      return { VersionId: 'v1', SecretString: JSON.stringify({ ...grant, ...tokens }) };
    },
    PutSecretValue: ({ input }) => ({ VersionId: input.ClientRequestToken }),
    GetItem: {},
    UpdateItem: ({ input }) => {
      const values = input.ExpressionAttributeValues as Record<string, object>;
      const { ':state': state, ':owner': owner, ':deadline': deadline } = values;
      return owner ? { Attributes: { state, owner, deadline } } : {};
    },
  });
}

const writes = (asked: string[]) => asked.filter((call) => /Put|Update/.test(call));
const lastLine = ({ stderr }: CliResult) => stderr.trim().split('\n').at(-1);

test('prints a line for each call, a table of all points, and no value', async () => {
  const sandbox = await sandboxFor({
    rewrite: async (answer, kind) => {
      if (kind !== 'create' && kind !== 'download') return answer;
      const body = (await answer.text()).replace('"id"', '"uuid"').replace('127.0.0.1', 'files.crm.example');
      return new Response(body, answer);
    },
  });

  const { code, stdout, stderr } = await (await deployedFor(sandbox)).cli('probe');

  const [first, ...lines] = stdout.trimEnd().split('\n');
  expect(first).toBe(`The CRM at ${new URL(sandbox.baseUrl).host}: each call once, one export of one column.`);
  const calls = lines.filter((line) => line.startsWith('  '));
  expect(calls).toHaveLength(10);
  expect(calls[0]).toMatch(
    /^ {2}GET \/leads\/fields -> 200 application\/json an array of \d+, first an object with the keys fieldName, .* \(\d+ ms\)$/,
  );
  expect(lines.filter((line) => !line.startsWith('  '))).toEqual([
    '✓ fields-shape        as assumed: 7 entities answer a list with fieldName.',
    '✓ token-presentation  as assumed: Authorization: Bearer is accepted.',
    '✓ export-scope        as assumed: An export is accepted with global:export.',
    '✓ export-id-field     as assumed: The answer has a UUID.',
    '✓ status-record       as assumed: The answer has a status.',
    '✓ status-words        as assumed: PROCESSED.',
    '✕ file-host           otherwise: Files come from files.crm.example, which is not listed. Setting: crm.fileHosts.',
    '· file-format         not seen: The probe ended before this point.',
    '· header-texts        not seen: The probe ended before this point.',
  ]);
  expect(code).toBe(1);
  expect(stdout + stderr).not.toContain(CANARY);
  expect(sandbox.ledger.count({ kind: 'file' })).toBe(0);
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
  const baseUrl = `${await deadAddress()}/api/v1`;
  const { code, stdout } = await (await deployedFor({ ...(await sandboxFor()), baseUrl })).cli('probe', '--json');

  const report = probeReportSchema.parse(JSON.parse(stdout));
  expect(report.calls).toMatchObject([{ call: 'GET /leads/fields', status: null }]);
  expect(code).not.toBe(0);
});

test('says nothing about the scope of exports if the grant names none', async () => {
  const { stdout } = await (await deployedFor(await sandboxFor(), { scope: '' })).cli('probe');

  expect(stdout).toContain('export-scope        not seen: The CRM did not say which scopes the grant has.');
});

test('exports one column once, not a left-out one, and sends no filters or other settings', async () => {
  const sandbox = await sandboxFor();
  const leads = { columns: { except: ['ID'] }, sendEmail: true, filters: [{ field: 'x' }] };

  await (await deployedFor(sandbox, {}, { entities: { leads } })).cli('probe');

  const creates = sandbox.ledger.calls({ kind: 'create' });
  expect(creates).toHaveLength(1);
  expect(creates[0]?.request).toEqual({ columns: [expect.not.stringMatching(/^id$/)] });
});

test('exports a column that a run requests, and makes no export if a run would stop', async () => {
  const sandbox = await sandboxFor();
  const only = { columns: ['createdAt'] };
  const mistyped = { columns: { except: ['emial-adress'] } };

  await (await deployedFor(sandbox, {}, { entities: { leads: only } })).cli('probe');
  const stopped = await (await deployedFor(sandbox, {}, { entities: { leads: mistyped } })).cli('probe');

  const creates = sandbox.ledger.calls({ kind: 'create' });
  expect(creates.map(({ request }) => request)).toEqual([{ columns: ['createdAt'] }]);
  expect(lastLine(stopped)).toMatch(/^ConfigInvalid: columns\.except of leads names "emial-adress"/);
});

test('reports extra keys that no file on this machine has, and does not send them', async () => {
  const sandbox = await sandboxFor();
  const leads = { extra: { tenant: CANARY } };

  const { code, stdout } = await (await deployedFor(sandbox, {}, { entities: { leads } })).cli('probe');

  expect(code).toBe(0);
  expect(stdout.split('\n')[1]).toMatch(/^The extra keys of leads are not sent, .*--configuration FILE\.$/);
  expect(stdout).not.toContain(CANARY);
});

test.each([429, 503])('makes no further call after the CRM answers %i', async (status) => {
  const sandbox = await sandboxFor({}, [{ path: 'fields', entity: 'leads', answer: { status } }]);

  const { code } = await (await deployedFor(sandbox)).cli('probe');

  expect(code).toBe(3);
  expect(sandbox.ledger.count()).toBe(1);
});

test('does not refresh a grant that no function has refreshed, and refuses it after its token expires', async () => {
  const sandbox = await sandboxFor();
  const untried = { functionStoredAt: null, obtainedAt: new Date(Date.now() - 3_590_000).toISOString() };
  const ageing = { ...untried, expiresAt: new Date(Date.now() + 60_000).toISOString() };
  const ended = { ...untried, expiresAt: new Date(Date.now() - 10_000).toISOString() };

  const cloud = await deployedFor(sandbox, ended);
  const late = await cloud.cli('probe');
  const used = await (await deployedFor(sandbox, ageing)).cli('probe', '--json');

  expect(late).toMatchObject({ code: 1, stdout: '' });
  expect(late.stderr).toMatch(
    /^The access token has expired \(20.*Z\), and no function has refreshed the grant yet\. The CRM was not called\. Start a run, which refreshes it: npx --no -- crm-export start leads --wait .*--deployment test\n$/,
  );
  expect({ code: used.code, ended: JSON.parse(used.stdout).ended }).toEqual({ code: 0, ended: null });
  expect(sandbox.ledger.count({ kind: 'token' })).toBe(0);
  expect(writes(cloud.asked)).toEqual([]);
});

test.each<[string, FaultInput, number, number, RegExp]>([
  ['a refused token', { path: 'fields', answer: { status: 401 } }, 1, 1, /401: the CRM refuses the stored token/],
  [
    'an entity that does not exist',
    { path: 'fields', entity: 'leads', answer: { status: 404 } },
    1,
    2,
    /404.* crm\.baseUrl/,
  ],
  ['a refused export', { path: 'create', answer: { status: 403 } }, 1, 1, /403.* lacks a right/],
  ['too many requests', { path: 'create', answer: { status: 429 } }, 1, 3, /^RateLimited: .* 429/],
  ['an export that fails', { path: 'status', status: 'FAILED' }, 1, 1, /^ExportFailed: /],
  ['a file that is refused', { path: 'file', answer: { status: 403 } }, 1, 1, /^The GET of the file was answered 403/],
])('%s ends the probe with its findings, and is not retried', async (_, fault, calls, code, sentence) => {
  const sandbox = await sandboxFor({}, [fault]);

  const result = await (await deployedFor(sandbox)).cli('probe', '--entity', 'leads');

  expect(result.code, result.stderr).toBe(code);
  expect(lastLine(result)).toMatch(sentence);
  expect(result.stdout).toContain('not seen');
  expect(sandbox.ledger.count({ kind: fault.path })).toBe(calls);
  expect(result.stdout + result.stderr).not.toContain(CANARY);
});

test('Ctrl-C ends the probe at once with its findings, and makes no further call', async () => {
  const sandbox = await sandboxFor({ jobChecks: 9 });
  const { soFar, ended } = startCli('probe', ...(await deployedFor(sandbox)).place);
  await vi.waitFor(() => expect(soFar.stdout).toContain('GET /leads/exports/{id} ->'), 5000);

  process.emit('SIGINT');
  const { code, stdout, stderr } = await ended;

  expect({ code, stderr }).toEqual({ code: 130, stderr: 'Interrupted. The probe made no further calls.\n' });
  expect(stdout).toContain('✓ export-id-field     as assumed: The answer has a UUID.');
  expect(sandbox.ledger.count({ kind: 'status' })).toBe(1);
  expect(sandbox.ledger.count({ kind: 'file' })).toBe(0);
});

test('Ctrl-C during a refresh waits until the new tokens are stored, and then makes no call', async () => {
  const sandbox = await sandboxFor({}, [{ path: 'token', delaySeconds: 0.3 }]);
  const expiresAt = new Date(Date.now() - 10_000).toISOString();
  const functionStoredAt = new Date(Date.now() - 3_600_000).toISOString();
  const cloud = await deployedFor(sandbox, { expiresAt, functionStoredAt });
  const { ended } = startCli('probe', ...cloud.place);
  await vi.waitFor(() => expect(sandbox.ledger.count({ kind: 'token' })).toBe(1), 5000);

  process.emit('SIGINT');
  const { code, stdout, stderr } = await ended;

  expect({ code, stdout, stderr }).toEqual({
    ...{ code: 130, stdout: '' },
    stderr: 'Interrupted before the first call of the probe.\n',
  });
  expect(writes(cloud.asked).join()).toContain('PutSecretValue');
  expect(sandbox.ledger.count({ kind: 'fields' })).toBe(0);
});

test('Ctrl-C during a call closes its connection', async () => {
  const connection = { hasOpened: false, hasClosed: false };
  const silent = await servedOnLoopback((request) => {
    connection.hasOpened = true;
    request.socket.once('close', () => {
      connection.hasClosed = true;
    });
  });
  const { authUrl, issueTokens } = await sandboxFor();
  const cloud = await deployedFor({ baseUrl: `${silent}/api/v1`, authUrl, issueTokens });
  const { ended } = startCli('probe', ...cloud.place);
  await vi.waitFor(() => expect(connection.hasOpened).toBe(true), 5000);

  process.emit('SIGINT');

  expect((await ended).code).toBe(130);
  await vi.waitFor(() => expect(connection.hasClosed).toBe(true), 5000);
});

test('makes one call if the CRM refuses it', async () => {
  const asked: string[] = [];
  const silent = await servedOnLoopback(({ url = '' }, _, response) => {
    asked.push(url);
    response.writeHead(401, { 'www-authenticate': 'DPoP error="invalid_token"' }).end();
  });
  const { authUrl, issueTokens } = await sandboxFor();

  const { code, stdout } = await (await deployedFor({ baseUrl: `${silent}/api/v1`, authUrl, issueTokens })).cli(
    'probe',
  );

  expect(code).toBe(1);
  expect(asked).toEqual(['/api/v1/leads/fields']);
  expect(stdout).toContain('✕ token-presentation  otherwise: The CRM asks for the scheme DPoP.');
});
