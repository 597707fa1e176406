import { expect, test } from 'vitest';
import type { ProbeDeps } from '../../../cli/probe/conversation/converse.ts';
import type { SeenGrant } from '../../../cli/probe/conversation/exchange.ts';
import { isObservable, OPEN_POINTS } from '../../../cli/probe/open-points/open-points.ts';
import { callTokenEndpoint, type TokenAnswer } from '../../../core/oauth/token-endpoint.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import { DIALECTS, type Dialect } from '../../../sandbox/dialects.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import type { LedgerCall } from '../../../sandbox/world/ledger.ts';
import { CALLBACK, press, VERIFIER } from '../../sandbox/client.ts';
import { deployment } from '../../support/builders.ts';
import { probed, sandboxFor } from './support/probed.ts';

/** In every cell of a record, every error and every link of the sandbox. */
const CANARY = 'c4n4ry';
const SCOPE = 'openid profile global:export customers:update';
/** All that a probe can be told to do: it sees what it can. */
const EVERYTHING: Partial<ProbeDeps> = {
  early: true,
  filters: [{ field: 'id', operator: 'contains', value: idAt('leads', 0) }],
  change: { customer: idAt('customers', 0), fields: { city: 'Haifa' } },
};

/** What the token endpoint gives for the consent of a person. */
async function consented(sandbox: Sandbox): Promise<TokenAnswer> {
  const { authUrl, clientId, clientSecret } = sandbox;
  const { crm } = deployment({ crm: { authUrl, scopes: SCOPE.split(' ') } });
  const code = (await press(sandbox, 'allow', { scope: SCOPE })).searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: VERIFIER } as const;
  const client = { clientId, clientSecret };
  return callTokenEndpoint({ crm, client, grant, scope: SCOPE, timeoutMs: 5000, now: () => new Date() });
}

function grantOf(answer: TokenAnswer): { accessToken: string; grant: SeenGrant } {
  const from = { from: 'exchanged', clientAuthentication: 'basic', ageSeconds: 0 } as const;
  if (answer.kind !== 'granted') {
    return { accessToken: 'none', grant: { ...from, clientRefused: answer.message, scope: '', lifeSeconds: null } };
  }
  const { accessToken, expiresAt, obtainedAt, scope } = answer.tokens;
  const lifeSeconds = expiresAt && (Date.parse(expiresAt) - Date.parse(obtainedAt)) / 1000;
  return { accessToken, grant: { ...from, clientRefused: null, scope, lifeSeconds: lifeSeconds || null } };
}

/** Meets a CRM of that dialect; whoever sleeps lets its clock go on. */
async function meet({ settings, faults = [] }: Dialect) {
  const sandbox = await sandboxFor({ canary: CANARY, ...settings }, faults);
  const given = grantOf(await consented(sandbox));
  sandbox.ledger.clear();
  let slept = 0;
  const result = await probed(sandbox, {
    ...EVERYTHING,
    ...given,
    configuration: { crm: { scopes: SCOPE.split(' ') } },
    elapsed: () => performance.now() + slept,
    sleep: async (ms) => {
      slept += ms;
      sandbox.clock.advance(ms / 1000);
    },
  });
  return { result, calls: sandbox.ledger.calls(), accessToken: given.accessToken };
}

function expectBounds(calls: LedgerCall[]): void {
  const count = (kind: LedgerCall['kind']) => calls.filter((call) => call.kind === kind).length;
  expect(count('create')).toBeLessThanOrEqual(3);
  expect(count('download')).toBeLessThanOrEqual(4);
  expect(count('file')).toBeLessThanOrEqual(4);
  expect(count('update')).toBeLessThanOrEqual(1);
  const nameOf = ({ method, path, request }: LedgerCall) => JSON.stringify([method, path, request]);
  const failed = calls.filter(({ status }) => status === null || status >= 400);
  for (const call of failed) expect(calls.filter((each) => nameOf(each) === nameOf(call))).toHaveLength(1);
}

test.each(DIALECTS)('$name: every contradiction that can be seen is named, and none is invented', async (dialect) => {
  const { result, calls, accessToken } = await meet(dialect);

  expect(result.otherwise.toSorted(), JSON.stringify(result.sightings, undefined, 1)).toEqual(
    dialect.otherwise.toSorted(),
  );
  const assumed = result.sightings.filter(({ verdict }) => verdict === 'as assumed').map(({ id }) => id);
  expect(assumed.filter((id) => HIDDEN.includes(id))).toEqual([]);
  expectBounds(calls);
  expect(calls.filter(({ violation }) => violation)).toEqual([]);
  const kept = JSON.stringify(result);
  expect(kept).not.toContain(CANARY);
  expect(kept).not.toContain(accessToken === 'none' ? CANARY : accessToken);
});

const HIDDEN = OPEN_POINTS.filter((row) => !isObservable(row)).map(({ id }) => String(id));

test('every point that can be seen is otherwise in a dialect, and no other point is', () => {
  const observable = OPEN_POINTS.filter(isObservable).map(({ id }) => id);

  expect([...new Set(DIALECTS.flatMap(({ otherwise }) => otherwise))].toSorted()).toEqual(observable.toSorted());
});
