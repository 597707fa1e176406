import type { MiddlewareHandler } from 'hono';
import { problem } from '../world/answers.ts';
import { fingerprint } from '../world/grants.ts';
import type { SandboxEnv, World } from '../world/world.ts';

/** Requires a valid `Authorization: Bearer` token with the scope: 401 and 403 otherwise (RFC 6750). */
export function bearer(world: World, scope: string): MiddlewareHandler<SandboxEnv> {
  return async (c, next) => {
    const token = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
    if (token === undefined) {
      const headers = { 'WWW-Authenticate': 'Bearer realm="sandbox"' };
      throw problem(world, { status: 401, code: 'unauthorized', message: 'A bearer token is required.', headers });
    }
    c.get('call').tokenFingerprint = fingerprint(token);
    const scopes = world.grants.check(token);
    if (scopes === null) {
      const headers = { 'WWW-Authenticate': 'Bearer realm="sandbox", error="invalid_token"' };
      throw problem(world, {
        status: 401,
        code: 'invalid_token',
        message: 'The token is unknown or expired.',
        headers,
      });
    }
    if (!scopes.includes(scope)) {
      const headers = { 'WWW-Authenticate': `Bearer realm="sandbox", error="insufficient_scope", scope="${scope}"` };
      throw problem(world, {
        status: 403,
        code: 'insufficient_scope',
        message: `The scope ${scope} is missing.`,
        headers,
      });
    }
    await next();
  };
}
