import type { MiddlewareHandler } from 'hono';
import { problem } from '../world/answers.ts';
import { fingerprint } from '../world/grants.ts';
import type { Settings } from '../world/settings.ts';
import type { SandboxEnv, World } from '../world/world.ts';

/** Requires a valid `Authorization: Bearer` token with the scope: 401 and 403 otherwise (RFC 6750). */
export function bearer(world: World, scopeOf: (settings: Settings) => string): MiddlewareHandler<SandboxEnv> {
  const refusal = (status: 401 | 403, code: string, message: string, challenge = '') => {
    const headers = { 'WWW-Authenticate': `Bearer realm="sandbox"${challenge}` };
    return problem(world, { status, code, message, headers });
  };
  return async (c, next) => {
    const token = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
    if (token === undefined) throw refusal(401, 'unauthorized', 'A bearer token is required.');
    c.get('call').tokenFingerprint = fingerprint(token);
    const scopes = world.grants.check(token);
    if (scopes === null) {
      throw refusal(401, 'invalid_token', 'The token is unknown or expired.', ', error="invalid_token"');
    }
    const scope = scopeOf(world.settings);
    if (!scopes.includes(scope)) {
      const challenge = `, error="insufficient_scope", scope="${scope}"`;
      throw refusal(403, 'insufficient_scope', `The scope ${scope} is missing.`, challenge);
    }
    await next();
  };
}
