import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { approveConsent } from '../../../sandbox/approve.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { Answers } from '../support/cloud/answers.ts';
import { refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { configured } from '../support/cloud/stack.ts';
import { startCli } from '../support/run-cli.ts';

const AT = '2026-11-20T01:00:00.000Z';
const PUBLISHED = { status: 'SUCCEEDED', start: AT, stop: AT, output: '{}' };

/** Secrets and ledger in memory. */
function grantParts(): Answers {
  const secrets = new Map<string, { SecretString: string; VersionId: string }>();
  return {
    GetSecretValue: ({ input: { SecretId, VersionId } }) => {
      const stored = secrets.get(String(SecretId));
      return stored && (!VersionId || VersionId === stored.VersionId) ? stored : refused('ResourceNotFoundException');
    },
    PutSecretValue: ({ input: { SecretId, SecretString, ClientRequestToken } }) => {
      if (!SecretString) return refused('InvalidParameterException');
      const stored = { SecretString: String(SecretString), VersionId: String(ClientRequestToken) };
      secrets.set(String(SecretId), stored);
      return stored;
    },
    GetItem: {},
    UpdateItem: ({ input }) => {
      const values = input.ExpressionAttributeValues as Record<string, object>;
      if (':number' in values) return { Attributes: { number: { N: '1' } } };
      const { ':state': state, ':owner': owner, ':deadline': deadline } = values;
      return owner ? { Attributes: { state, owner, deadline } } : {};
    },
  };
}

/** Runs `authorize` with a person who consents at once, and with this result of the first run. */
async function authorized(run: Omit<Execution, 'name' | 'input'>, more: Answers, ...args: string[]) {
  const sandbox = await startSandbox({ rows: 5, jobChecks: 1 });
  onTestFinished(() => sandbox.close());
  const { baseUrl, authUrl } = sandbox;
  const machine = executions([], { onStart: () => run });
  const cloud = await aws(configured({ crm: { baseUrl, authUrl } }), more, grantParts(), machine);
  vi.stubEnv('CRM_CLIENT_SECRET', sandbox.clientSecret);
  const line = ['authorize', '--client-id', sandbox.clientId, '--no-browser', ...args, ...cloud.place];
  const { soFar, ended } = startCli(...line);
  await approveConsent(await vi.waitFor(() => addressIn(soFar.stdout + soFar.stderr), 10_000));
  return { ...(await ended), started: cloud.started };
}

function addressIn(shown: string): string {
  const found = /Open: (\S+)/.exec(shown)?.[1];
  if (found === undefined) throw new Error(`no address yet: ${shown}`);
  return found;
}

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1');
});

test('authorize without --run starts no run, and prints the command that does', async () => {
  const { code, stdout, started } = await authorized(PUBLISHED, {});

  expect(code).toBe(0);
  expect(stdout).toMatch(/^Next, while you can consent again, start a run\. .* start leads --wait /m);
  expect(started).toEqual([]);
});

test('authorize --run starts a run of that entity after it stores the grant', async () => {
  const { code, stdout, stderr, started } = await authorized(PUBLISHED, {}, '--run', 'meetings');

  expect({ code, started }).toEqual({ code: 0, started: [{ entity: 'meetings' }] });
  expect(stdout).toMatch(/^Authorized\. .*; VersionId: .*\narn:\S+:meetings-\S+\nmeetings of \S+, published/m);
  // No function refreshes the grant in this test.
  expect(stderr).toMatch(/The run did not refresh the grant, .* start another run: .* start meetings --wait /);
});

test('authorize --run fails if the run is published but its functions could not store the refreshed grant', async () => {
  // If the CRM does not rotate the refresh token, the run continues and the claim is released.
  const Item = { state: { S: 'CLAIMED' }, owner: { S: 'a function' }, deadline: { N: '0' } };
  const { code, stderr } = await authorized(PUBLISHED, { GetItem: { Item } }, '--run', 'leads');

  expect(code).toBe(1);
  expect(stderr).toMatch(/^The functions refreshed the grant, but could not store it\. /m);
});

test('authorize --run shows the cause of a failed first run, and keeps the grant', async () => {
  const cause = 'The ledger may not be used.';
  const { code, stdout, stderr } = await authorized(
    { ...PUBLISHED, status: 'FAILED', error: 'ConfigInvalid', cause },
    {},
    '--run',
    'leads',
  );

  expect(code).toBe(1);
  expect(stdout).toMatch(/^Authorized\. /m);
  expect(stderr).toContain(cause);
});
