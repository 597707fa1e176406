import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { approveConsent } from '../../../sandbox/approve.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import type { Answers } from '../support/cloud/answers.ts';
import { refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { configured } from '../support/cloud/stack.ts';
import { type CliResult, startCli } from '../support/run-cli.ts';

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

test('authorize without --run starts no run', async () => {
  const { code, started } = await authorized(PUBLISHED, {});

  expect({ code, started }).toEqual({ code: 0, started: [] });
});

test('authorize --run starts a run of that entity after it stores the grant', async () => {
  const { code, stdout, started } = await authorized(PUBLISHED, {}, '--run', 'meetings');

  expect({ code, started }).toEqual({ code: 0, started: [{ entity: 'meetings' }] });
  expect(stdout.indexOf('VersionId')).toBeLessThan(stdout.indexOf(':meetings-'));
});

// If the CRM does not rotate the refresh token, the run continues and the claim is released.
const NOT_STORED = { GetItem: { Item: { state: { S: 'CLAIMED' }, owner: { S: 'a' }, deadline: { N: '0' } } } };
const FAILED = { ...PUBLISHED, status: 'FAILED', error: 'ConfigInvalid', cause: 'The ledger may not be used.' };

test.each([
  ['is published but its functions could not store the refreshed grant', PUBLISHED, NOT_STORED],
  ['fails', FAILED, {}],
])('authorize --run fails if the run %s, and keeps the grant', async (_, run, more) => {
  const { code, stdout } = await authorized(run, more, '--run', 'leads');

  expect([code, stdout.includes('VersionId')]).toEqual([1, true]);
});

describe('at noon', () => {
  clockAt('2026-11-20T12:00:00.000Z');

  test('authorize ends with what the run says of the grant', async () => {
    const ends: [string, Execution | typeof PUBLISHED, Answers, ...string[]][] = [
      ['without a run', PUBLISHED, {}],
      // No function refreshes the grant in this test.
      ['the run is published, and did not refresh the grant', PUBLISHED, {}, '--run', 'meetings'],
      ['the refreshed grant is not stored', PUBLISHED, NOT_STORED, '--run', 'leads'],
      ['the run failed', FAILED, {}, '--run', 'leads'],
    ];
    const results: [string, CliResult][] = [];
    for (const [what, run, more, ...args] of ends) {
      const { shown, ...result } = await authorized(run, more, ...args);
      const afterConsent = shown.slice(shown.indexOf('Authorized. '));
      const lasting = afterConsent
        .replace(/VersionId: [\w-]+/, 'VersionId: ID')
        .replace(/expires at \S+Z/, 'expires at TIME');
      results.push([what, { ...result, shown: lasting }]);
    }

    await expectResults('first-run', results);
  });
});
