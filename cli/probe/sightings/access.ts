import type { Conversation, Exchange } from '../conversation/exchange.ts';
import { assumed, each, needsCode, needsSetting, notSeen, type Observer, tolerated } from './sighting.ts';

/** How the CRM is entered: tokens, scopes, the client. */

const answered = ({ exchanges }: Conversation) => exchanges.filter(({ status }) => status !== null);
/** A page of a sign-in is answered 200 as well. */
const isTaken = ({ status, shape }: Exchange) =>
  status !== null && status >= 200 && status < 300 && !shape.startsWith('no JSON');

export const tokenPresentation: Observer = (conversation) => {
  const { grant } = conversation;
  const calls = answered(conversation);
  const refused = calls.find(({ status }) => status === 401);
  const challenge = refused?.headers['www-authenticate'] ?? '';
  const scheme = challenge.split(' ')[0] ?? '';
  // Lists of fields may be there for everybody.
  if (calls.some((one) => isTaken(one) && (!refused || one.step !== 'fields')))
    return assumed('Authorization: Bearer is answered.');
  if (!refused) return notSeen('No call was answered with success.');
  if (scheme !== '' && !/^bearer$/i.test(scheme))
    return needsCode(`The CRM asks for the scheme ${scheme}, not Bearer.`);
  if (calls.some(isTaken)) return notSeen(`Lists of fields are answered, but ${refused.call} was refused (401).`);
  if (grant.from === 'stored')
    return notSeen('The stored token was refused (401), though it is not due: was it revoked?');
  return needsCode('A token that was just issued was refused (401) as Authorization: Bearer.');
};

/** Scopes that no export needs. */
const OTHERS = ['openid', 'profile', 'email', 'offline_access', 'customers:update'];
const ASSUMED = 'global:export';

export const exportScope: Observer = (conversation) => {
  const { grant, scopes, exchanges } = conversation;
  const calls = exchanges.filter(({ step }) => step === 'create' || step === 'fields');
  const others = grant.scope.split(/\s+/).filter((name) => name !== '' && ![...OTHERS, ASSUMED].includes(name));
  const held = grant.scope.split(/\s+/).filter((name) => scopes.includes(name));
  const forExports = held.filter((name) => !OTHERS.includes(name));
  const refused =
    calls.find(({ step, status }) => status === 403 && step === 'create') ?? calls.find(({ status }) => status === 403);
  const named = /scope="([^"]+)"/.exec(refused?.headers['www-authenticate'] ?? '')?.[1];
  if (exchanges.some((one) => one.step === 'create' && isTaken(one))) {
    if (held.includes(ASSUMED) && others.length > 0)
      return notSeen('The token has other scopes as well, and which of them counts is not shown.');
    if (held.includes(ASSUMED)) return assumed(`An export is accepted with the scope ${ASSUMED}.`);
    if (grant.scope.trim() === '') return notSeen('The CRM does not say which scopes the token has.');
    return needsSetting(
      `An export is accepted without ${ASSUMED}; the token has ${each(forExports) || 'none of the scopes for exports'}.`,
    );
  }
  if (!refused) return notSeen('No export was accepted, and none refused with 403.');
  if (named?.split(' ').includes(ASSUMED))
    return assumed(`${refused.call} asks for the scope ${ASSUMED}, which the token lacks.`);
  if (named) return needsSetting(`${refused.call} asks for the scope ${named}.`);
  if (!held.includes(ASSUMED)) return notSeen(`${refused.call} was answered 403; the token lacks ${ASSUMED}.`);
  const what = 'exports need another scope, or the person who authorized lacks a right';
  return needsSetting(`${refused.call} was answered 403 to a token with ${ASSUMED}: ${what}.`);
};

export const clientAuthentication: Observer = ({ grant }) => {
  const { from, clientAuthentication: how, clientRefused } = grant;
  if (clientRefused !== null) return needsSetting(clientRefused);
  if (from === 'stored') return notSeen('The stored token was used, so the token endpoint was not called.');
  return assumed(`The token endpoint accepts the client by "${how}", as crm.clientAuthentication says.`);
};

export const expiresIn: Observer = (conversation) => {
  const { grant, exchanges } = conversation;
  const { lifeSeconds, ageSeconds } = grant;
  const refused = endOfToken(exchanges);
  const wasTaken = exchanges.some((one) => isTaken(one) && one.at < (refused?.at ?? 0));
  if (refused && wasTaken && lifeSeconds !== null && ageSeconds + refused.at / 1000 < lifeSeconds) {
    const age = Math.round(ageSeconds + refused.at / 1000);
    return needsCode(`A token that should live ${lifeSeconds} s was accepted, and after ${age} s refused (401).`);
  }
  if (grant.clientRefused !== null) return notSeen('The token endpoint gave no token.');
  if (grant.oddLife) return tolerated('It is neither a number nor a text, so no life is known: a 401 will tell.');
  if (lifeSeconds === null) return assumed('No life that can be used is named: a 401 will tell.');
  return assumed(`A token lives ${lifeSeconds} s, as the token endpoint says.`);
};

/** The first 401 behind which every call is refused so: one call alone may lack a right, or have a 401 of its own meaning. */
function endOfToken(exchanges: Exchange[]): Exchange | undefined {
  const last = exchanges.findLastIndex(({ status }) => status !== null && status !== 401);
  const refused = exchanges.slice(last + 1).filter(({ status }) => status === 401);
  return refused.length > 1 ? refused[0] : undefined;
}
