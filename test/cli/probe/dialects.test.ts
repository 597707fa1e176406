import { expect, test } from 'vitest';
import type { ProbeDeps } from '../../../cli/probe/conversation/converse.ts';
import type { SeenGrant } from '../../../cli/probe/conversation/exchange.ts';
import { isObservable, OPEN_POINTS } from '../../../cli/probe/open-points/open-points.ts';
import { sightingsOf } from '../../../cli/probe/sightings/observers.ts';
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
const HIDDEN = OPEN_POINTS.filter((row) => !isObservable(row)).map(({ id }) => String(id));
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
    return {
      accessToken: 'none',
      grant: { ...from, clientRefused: answer.message, scope: '', lifeSeconds: null, oddLife: false },
    };
  }
  const { accessToken, expiresAt, obtainedAt, scope } = answer.tokens;
  const lifeSeconds = expiresAt === null ? null : (Date.parse(expiresAt) - Date.parse(obtainedAt)) / 1000;
  const oddLife = answer.oddities.some((oddity) => oddity.includes('neither a number nor a text'));
  return { accessToken, grant: { ...from, clientRefused: null, scope, lifeSeconds, oddLife } };
}

/** Meets a CRM of that dialect; whoever sleeps lets its clock go on. Without a token there is no meeting. */
async function meet({ settings, faults = [] }: Dialect) {
  const sandbox = await sandboxFor({ canary: CANARY, ...settings }, faults);
  const given = grantOf(await consented(sandbox));
  sandbox.ledger.clear();
  if (given.grant.clientRefused !== null) {
    const nothing = { exchanges: [], fields: [], exports: [], update: null, scopes: SCOPE.split(' ') };
    return { ...given, sightings: sightingsOf({ grant: given.grant, ...nothing }), kept: '', calls: [] };
  }
  let slept = 0;
  const { of: _, ...result } = await probed(sandbox, {
    ...EVERYTHING,
    ...given,
    configuration: { crm: { scopes: SCOPE.split(' ') } },
    elapsed: () => performance.now() + slept,
    sleep: async (ms) => {
      slept += ms;
      sandbox.clock.advance(ms / 1000);
    },
  });
  return { ...given, ...result, kept: JSON.stringify(result), calls: sandbox.ledger.calls() };
}

function expectBounds(calls: LedgerCall[]): void {
  const count = (kind: LedgerCall['kind']) => calls.filter((call) => call.kind === kind).length;
  expect(count('create')).toBeLessThanOrEqual(3);
  expect(count('download')).toBeLessThanOrEqual(4);
  expect(count('file')).toBeLessThanOrEqual(4);
  expect(count('update')).toBeLessThanOrEqual(1);
  // An export may have the id of one before: what is asked of it is another call.
  const exports = (end: LedgerCall) => calls.filter(({ kind, seq }) => kind === 'create' && seq < end.seq).length;
  const nameOf = (call: LedgerCall) => JSON.stringify([call.method, call.path, call.request, exports(call)]);
  const failed = calls.filter(({ status }) => status === null || status >= 400);
  const repeated = failed.flatMap((one) => calls.filter((each) => each.seq > one.seq && nameOf(each) === nameOf(one)));
  expect(repeated).toEqual([]);
}

test.each(DIALECTS)('$name: every contradiction that can be seen is named, and none is invented', async (dialect) => {
  const { sightings, kept, calls, accessToken } = await meet(dialect);

  const idsOf = (wanted: string) => sightings.filter(({ verdict }) => verdict === wanted).map(({ id }) => String(id));
  expect(idsOf('otherwise').toSorted(), JSON.stringify(sightings, undefined, 1)).toEqual(dialect.otherwise.toSorted());
  expect(idsOf('as assumed').filter((id) => HIDDEN.includes(id))).toEqual([]);
  expectBounds(calls);
  expect(calls.filter(({ violation }) => violation)).toEqual([]);
  expect(kept).not.toContain(CANARY);
  expect(kept).not.toContain(accessToken);
});

test('every point that can be seen is otherwise in a dialect, and no other point is', () => {
  const observable = OPEN_POINTS.filter(isObservable).map(({ id }) => id);

  expect([...new Set(DIALECTS.flatMap(({ otherwise }) => otherwise))].toSorted()).toEqual(observable.toSorted());
});
