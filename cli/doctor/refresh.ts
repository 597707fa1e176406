import { setTimeout as sleep } from 'node:timers/promises';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { createGetAccessToken } from '../../core/oauth/access-token.ts';
import { accessTokenDeps } from '../../core/oauth/compose.ts';
import type { Generation } from '../../core/oauth/grant.ts';
import { newestOf } from '../../core/oauth/grant-store.ts';
import type { TokenAnswer } from '../../core/oauth/token-endpoint.ts';
import { broken, type Finding, holds, warning } from '../checks/finding.ts';
import type { Target } from '../support/target.ts';

interface RefreshOptions {
  crm: OAuthSettings;
  now: () => Date;
  authorizeCommand: string;
}

export interface Refreshed {
  before: Generation;
  after: Generation;
  /** Calls of the token endpoint; none if another function refreshed at the same time. */
  calls: { answer: TokenAnswer; milliseconds: number }[];
  /** The CRM gave new tokens that could not be stored. */
  lost: boolean;
}

/** One real refresh by the functions' own rule; it spends the generation. @throws RunError */
export async function refresh(target: Target, before: Generation, options: RefreshOptions): Promise<Refreshed> {
  const seen: Refreshed = { before, after: before, calls: [], lost: false };
  const places = {
    clientSecretId: target.ClientSecretId,
    tokensSecretId: target.TokensSecretId,
    ledgerTable: target.LedgerTableName,
  };
  const deps = accessTokenDeps(places, {
    ...options,
    sleep: (ms) => sleep(ms),
    random: Math.random,
    secondsLeft: () => Number.POSITIVE_INFINITY,
    count: (event) => {
      seen.lost ||= event === 'GrantRotatedButNotStored';
    },
    secrets: target.secrets,
    dynamo: target.dynamo,
  });
  const getAccessToken = createGetAccessToken({
    ...deps,
    callTokenEndpoint: async (...call) => {
      const started = performance.now();
      const answer = await deps.callTokenEndpoint(...call);
      seen.calls.push({ answer, milliseconds: Math.round(performance.now() - started) });
      return answer;
    },
  });
  await getAccessToken({ rejected: before.tokens.accessToken });
  return { ...seen, after: (await newestOf(deps.store)).newest };
}

/** Rotation, `expires_in` and latency. */
export function refreshFinding({ before, after, calls, lost }: Refreshed, authorizeCommand: string): Finding {
  if (lost) {
    const text = 'The CRM gave a new grant, but it could not be stored; the old one is spent.';
    const advice = `See that the secret can be written, then authorize again: ${authorizeCommand}.`;
    return broken(text, advice);
  }
  const last = calls.at(-1);
  if (last?.answer.kind !== 'granted') {
    const text = `Another function refreshed the grant at the same time; generation ${after.versionId} is there.`;
    return warning(text, 'To measure the CRM, refresh again when no run is under way.');
  }
  const { refreshToken, expiresAt, obtainedAt } = last.answer.tokens;
  const rotated = refreshToken !== undefined && refreshToken !== before.tokens.refreshToken;
  const life = expiresAt ? `${Math.round((Date.parse(expiresAt) - Date.parse(obtainedAt)) / 1000)} s` : 'unknown';
  const text = [
    `Answered in ${last.milliseconds} ms`,
    rotated ? 'rotation observed: the refresh token is a new one' : 'no rotation: the refresh token stays',
    `expires_in ${life}`,
    `stored as generation ${after.versionId}`,
  ].join('; ');
  const odd = [...(calls.length > 1 ? ['the first answer was lost'] : []), ...last.answer.oddities];
  if (odd.length === 0) return holds(`${text}.`);
  return warning(`${text}. Odd: ${odd.join(', ')}.`, 'Nothing is lost by it; tell the operator of the CRM.');
}
