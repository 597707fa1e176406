import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { addDoctor } from '../../../cli/doctor/doctor-command.ts';
import { addProbe } from '../../../cli/probe/probe-command.ts';
import type { ProbeReport } from '../../../core/probe/probe-report.ts';
import { probeReportSchema } from '../../../core/probe/probe-report.ts';
import { approveConsent } from '../../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts';
import { tempDir } from '../../local/support/support.ts';
import { CANARY } from '../../support/builders.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import { type Answers, bucketRefuses, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { configured } from '../support/cloud/stack.ts';
import { type CliResult, runCli, startCli, useCommands } from '../support/run-cli.ts';
import { sandboxFor } from './support/probed.ts';

useCommands({ probe: addProbe, doctor: addDoctor });

/** An export is there at the first look. */
const AT_ONCE = { jobChecks: 1, canary: CANARY };

/** A configuration file for a CRM. */
async function fileFor({ baseUrl, authUrl }: Pick<Sandbox, 'baseUrl' | 'authUrl'>, more: object = {}): Promise<string> {
  const file = join(await tempDir(), 'crm.json');
  await writeFile(file, JSON.stringify({ local: true, crm: { baseUrl, authUrl }, ...more }));
  return file;
}

/** `probe --configuration` with a person who consents at once. */
async function byConsent(sandbox: Sandbox, file: string, ...args: string[]) {
  vi.stubEnv('CRM_CLIENT_SECRET', sandbox.clientSecret);
  const line = ['probe', '--configuration', file, '--client-id', sandbox.clientId, '--no-browser', ...args];
  const { soFar, ended } = startCli(...line);
  const url = await vi.waitFor(() => {
    const found = /Open: (\S+)/.exec(soFar.stdout + soFar.stderr)?.[1];
    if (found === undefined) throw new Error(`no address yet: ${soFar.stderr}`);
    return found;
  });
  await approveConsent(url);
  return ended;
}

/** A cloud with a deployment of this CRM whose grant is stored. */
async function deployedFor(sandbox: Sandbox, tokens: object = {}, more: Answers = {}) {
  const { accessToken, refreshToken, scopes } = sandbox.issueTokens();
  const obtainedAt = new Date().toISOString();
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const grant = { accessToken, refreshToken, scope: scopes.join(' '), obtainedAt, expiresAt, earlierObtainedAt: [] };
  const { baseUrl, authUrl } = sandbox;
  return aws(configured({ crm: { baseUrl, authUrl } }), {
    GetSecretValue: ({ input }) => {
      if (!('VersionStage' in input)) return refused('ResourceNotFoundException');
      return { VersionId: 'v1', SecretString: JSON.stringify({ ...grant, ...tokens }) };
    },
    ...more,
  });
}

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1');
});

test('before a deployment it warns, asks for consent, and prints a line for each point, what is otherwise first', async () => {
  const sandbox = await sandboxFor({ ...AT_ONCE, createAnswer: 'uuid', fieldsShape: 'name' });
  const file = await fileFor(sandbox);

  const { code, stdout, stderr } = await byConsent(sandbox, file);

  const lines = stdout.split('\n').slice(stdout.split('\n').findIndex((line) => line.includes('open points')));
  expect(code).toBe(1);
  expect(stderr).toContain('Some CRMs end another grant of the same client by it');
  expect(lines.slice(0, 6)).toEqual([
    '37 open points: 15 as assumed, 2 otherwise, 8 not seen, 12 cannot be seen.',
    '! export-id-field        otherwise: It is in uuid.',
    '    -> Runs take it all the same.',
    '✗ fields-shape           otherwise: A run cannot read the fields of leads: list, names in name.',
    expect.stringMatching(
      /^ {4}-> No setting expresses it: core\/crm\/fields\.ts assumes "`GET \/\{entity\}\/fields` shape"/,
    ),
    expect.stringMatching(/^✓ token-presentation/),
  ]);
  expect(stdout).toContain('- 12 points cannot be seen by any probe; --all says why.');
  expect(stdout + stderr).not.toContain(CANARY);
  expect(sandbox.ledger.calls({ kind: 'token' }).map(({ grantType }) => grantType)).toEqual(['authorization_code']);
});

test('with a deployment the stored token is used, and one that is not due is not refreshed', async () => {
  const sandbox = await sandboxFor(AT_ONCE);
  const cloud = await deployedFor(sandbox);

  const { code, stdout } = await cloud.cli('probe', '--json', '--save');

  const report: ProbeReport = probeReportSchema.parse(JSON.parse(stdout));
  expect({ code, ok: report.ok, ended: report.ended }).toEqual({ code: 0, ok: true, ended: null });
  expect(report.sightings.find(({ id }) => id === 'client-authentication')?.verdict).toBe('not seen');
  expect(sandbox.ledger.count({ kind: 'token' })).toBe(0);
  const [[key, saved] = ['', '']] = cloud.objects;
  expect(key).toMatch(/^probes\/\d{8}T\d{6}Z\.json$/);
  expect(String(saved)).toBe(stdout.trim());
  expect(stdout).not.toContain(CANARY);
  expect(cloud.asked.filter((call) => /Put|Update/.test(call))).toEqual([expect.stringMatching(/PutObject/)]);
});

test('a grant that no function has refreshed yet is used and not refreshed, and is refused once its access token has ended', async () => {
  const sandbox = await sandboxFor(AT_ONCE);
  const untried = { functionStoredAt: null };
  const obtainedAt = new Date(Date.now() - 3_590_000).toISOString();
  const ageing = { ...untried, obtainedAt, expiresAt: new Date(Date.now() + 60_000).toISOString() };
  const ended = { ...untried, obtainedAt, expiresAt: new Date(Date.now() - 10_000).toISOString() };

  const cloud = await deployedFor(sandbox, ended);
  const refused = await cloud.cli('probe');
  const used = await (await deployedFor(sandbox, ageing)).cli('probe', '--json');

  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(
    /^The access token has ended \(20.*Z\), and no function has refreshed the grant yet\. Nothing was asked of the CRM\. Start a run, which refreshes it: npx --no -- crm-export start leads --wait .*--deployment test\n$/,
  );
  expect({ code: used.code, ended: JSON.parse(used.stdout).ended }).toEqual({ code: 0, ended: null });
  expect(sandbox.ledger.count({ kind: 'token' })).toBe(0);
  expect(cloud.asked.filter((call) => /Put|Update/.test(call))).toEqual([]);
});

test('what differs and a setting expresses is printed to be pasted, and written by --write', async () => {
  const sandbox = await sandboxFor({ ...AT_ONCE, canary: '' }, [{ path: 'file', written: { header: 'labels' } }]);
  sandbox.settings.fieldsShape = 'plain';
  const file = await fileFor(sandbox, { entities: { leads: { columns: ['id', 'city'] } } });

  const printed = await byConsent(sandbox, file);
  const { code, stderr } = await byConsent(sandbox, file, '--write');

  const columns = { only: ['id', 'city'], labels: { מזהה: 'id' } };
  expect(JSON.parse(printed.stdout.slice(printed.stdout.indexOf('\n{')))).toEqual({ entities: { leads: { columns } } });
  expect(code).toBe(1);
  expect(stderr).toContain('  entities.leads.columns: ["id","city"] -> {"only":["id","city"],"labels":{"מזהה":"id"}}');
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ local: true, entities: { leads: { columns } } });
  expect((await byConsent(sandbox, file, '--write')).stderr).toContain('has all that was seen.');
});

test('a report that cannot be kept is printed all the same', async () => {
  const sandbox = await sandboxFor({ ...AT_ONCE, canary: '' }, [{ path: 'file', written: { header: 'labels' } }]);
  sandbox.settings.fieldsShape = 'plain';
  const cloud = await deployedFor(sandbox, {}, bucketRefuses('AccessDenied', 403));

  const shown = await cloud.cli('probe', '--save');
  const document = await cloud.cli('probe', '--save', '--json');

  expect([shown.code, document.code]).toEqual([3, 3]);
  expect(JSON.parse(shown.stdout.slice(shown.stdout.indexOf('\n{')))).toHaveProperty('entities.leads.columns.labels');
  const report: ProbeReport = probeReportSchema.parse(JSON.parse(document.stdout));
  expect(report).toMatchObject({ ok: false, ended: expect.stringContaining('AWS denies access') });
  expect(document.stderr.trim().split('\n').at(-1)).toBe(report.ended);
});

test('a file that somebody changed meanwhile is left alone', async () => {
  const sandbox = await sandboxFor({ ...AT_ONCE, fieldsShape: 'plain' }, [
    { path: 'file', written: { header: 'labels' } },
  ]);
  sandbox.settings.canary = '';
  const file = await fileFor(sandbox);
  const meeting = byConsent(sandbox, file, '--write');
  await vi.waitFor(() => expect(sandbox.ledger.count({ kind: 'create' })).toBe(1));
  await writeFile(file, '{"changed": true}');

  const { code, stderr } = await meeting;

  expect(code).toBe(1);
  expect(stderr).toContain(`${file} was changed while the CRM was asked: it is as somebody left it.`);
  expect(await readFile(file, 'utf8')).toBe('{"changed": true}');
});

test('one change of a customer is sent with a value that nobody sees', async () => {
  const sandbox = await sandboxFor(AT_ONCE);
  const file = await fileFor(sandbox);
  const run = (...args: string[]) => runCli('probe', '--configuration', file, '--client-id', 'c', ...args);

  const id = '00000000-0000-4000-8000-000000000001';
  const refusals = [
    await run('--customer', id),
    await run('--customer', 'me', '--field', 'city', '--yes'),
    await run('--customer', id, '--field', 'city'),
    await run('--customer', id, '--field', 'citty', '--yes'),
  ];

  expect(refusals.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
  expect(refusals.map(({ stderr }) => stderr.trim())).toEqual([
    '--customer and --field belong together. Nothing was asked of the CRM.',
    'The id of a customer is a UUID. Nothing was asked of the CRM.',
    'This changes a customer: add --yes. Nothing was asked of the CRM.',
    'There is no field "citty" of customers (did you mean "city"?). Nothing was asked of the CRM.',
  ]);
  expect(sandbox.ledger.count()).toBe(0);
});

test('bad input is one sentence, and nothing is half done', async () => {
  const silent = await servedOnLoopback((_, __, response) => response.destroy());
  const sandbox = await sandboxFor({ ...AT_ONCE, exportScope: 'exports:other' });
  const lacking = await sandboxFor(AT_ONCE, [{ path: 'fields', entity: 'meetings', answer: { status: 404 } }]);
  const nothing = await aws(configured({ crm: { baseUrl: sandbox.baseUrl } }), {
    GetSecretValue: refused('ResourceNotFoundException'),
  });
  const dead = await startSandbox();
  await dead.close();
  const mute = { ...sandbox, baseUrl: `${silent}/api/v1` };
  const sentencesOf = ({ code, stdout, stderr }: CliResult) => {
    // Only a scope that is another one is told with all that was seen.
    if (!stderr.includes('lacks a scope')) expect(stdout).toBe('');
    return [code, stderr.trim().split('\n').at(-1)];
  };

  expect(sentencesOf(await nothing.cli('probe'))).toEqual([
    2,
    expect.stringMatching(/^ConfigInvalid: .*has no value yet/),
  ]);
  expect(sentencesOf(await (await deployedFor(dead)).cli('probe'))).toEqual([
    ...[
      3,
      `The CRM at ${new URL(dead.url).host} does not answer (ECONNREFUSED): check crm.baseUrl and the network. Nothing was exported.`,
    ],
  ]);
  expect(sentencesOf(await (await deployedFor(mute)).cli('probe'))).toEqual([
    3,
    expect.stringContaining('does not answer'),
  ]);
  expect(sentencesOf(await (await deployedFor(sandbox)).cli('probe'))).toEqual([
    ...[
      1,
      'The CRM did not list the fields of any entity (403): the grant may not export, or lacks a scope. Nothing was exported.',
    ],
  ]);
  expect(sentencesOf(await (await deployedFor(lacking)).cli('probe', '--entity', 'meetings'))).toEqual([
    ...[1, 'GET /meetings/fields was answered 404: the CRM has no meetings. Nothing was exported.'],
  ]);
  expect(sentencesOf(await runCli('probe', '--configuration', '/nowhere.json', '--client-id', 'c'))).toEqual([
    ...[2, expect.stringMatching(/nowhere\.json does not exist/)],
  ]);
  expect(sentencesOf(await runCli('probe', '--configuration', await fileFor(sandbox)))).toEqual([
    ...[2, 'Without a deployment there is no stored client: name it with --client-id.'],
  ]);
  expect(sentencesOf(await runCli('probe', '--configuration', await fileFor(sandbox), '--save'))).toEqual([
    ...[2, '--save needs a deployment, whose bucket keeps the report.'],
  ]);
  expect([sandbox, lacking].map(({ ledger }) => ledger.count({ kind: 'create' }))).toEqual([0, 0]);
});

test('a client that the token endpoint refuses is said with the setting, and nothing is asked', async () => {
  const sandbox = await sandboxFor({ ...AT_ONCE, clientAuthentication: ['post'] });

  const { code, stdout, stderr } = await byConsent(sandbox, await fileFor(sandbox));

  expect(code).toBe(2);
  expect(stdout).toContain(
    '✗ client-authentication  otherwise: The token endpoint does not accept the client by "basic", or its secret is another.',
  );
  expect(stdout).toContain('-> The setting crm.clientAuthentication expresses it (docs/configuration.md).');
  expect(stderr).toContain('set crm.clientAuthentication to "basic_raw" or "post"');
  expect(sandbox.ledger.count({ kind: 'fields' })).toBe(0);
});
