import type { OpenPoint } from './open-point.ts';

/** How the CRM is entered. */
export const ACCESS = [
  {
    id: 'token-presentation',
    point: 'How the access token is presented',
    assumed: '`Authorization: Bearer`',
    tolerated: '-',
    observed: 'calls with `Authorization: Bearer` that are answered, or a 401 to a token that was just issued',
    assumedIn: 'core/crm/client.ts',
  },
  {
    id: 'export-scope',
    point: 'Scope of the export operations',
    assumed: '`global:export`',
    tolerated: 'scopes configurable; 403 names the scopes the token has',
    observed: 'the scopes of the grant beside the answers to exports',
    assumedIn: 'core/crm/refusals.ts',
    setting: 'crm.scopes',
  },
  {
    id: 'client-authentication',
    point: 'Client authentication at the token endpoint',
    assumed: '`basic`: HTTP Basic, id and secret form-encoded first',
    tolerated: '`basic_raw` (not encoded), `post` (client_id and client_secret in the form), `none`',
    observed: 'where the command itself calls the token endpoint: whether the client is accepted',
    assumedIn: 'core/oauth/token-endpoint.ts',
    setting: 'crm.clientAuthentication',
  },
  {
    id: 'refresh-tokens',
    point: 'Refresh tokens',
    assumed: 'assume strict rotation with zero grace and reuse detection',
    tolerated: 'a server that never rotates works too',
    cannotBeSeen: 'a spent refresh token would have to be used again, which may end the grant',
    assumedIn: 'core/oauth/spend.ts',
  },
  {
    id: 'expires-in',
    point: '`expires_in`',
    assumed: 'may be missing, a string, zero or negative',
    tolerated: 'unknown is unknown, not zero: rely on 401',
    observed: 'the life that the token endpoint named, and a 401 before its end',
    assumedIn: 'core/oauth/token-freshness.ts',
  },
] as const satisfies readonly OpenPoint[];
