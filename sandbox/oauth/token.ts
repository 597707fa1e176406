import type { Context } from 'hono';
import { z } from 'zod';
import type { Settings } from '../sandbox-settings.ts';
import { track } from '../track.ts';
import type { LedgerCall, SandboxApp, SandboxEnv, World } from '../world.ts';
import { fingerprint, type IssuedTokens, type Refusal } from './grants.ts';

type ErrorCode = 'invalid_request' | 'invalid_client' | 'invalid_grant' | 'invalid_scope' | 'unsupported_grant_type';

const grantSchema = z.discriminatedUnion('grant_type', [
  z.object({
    grant_type: z.literal('authorization_code'),
    code: z.string().min(1),
    redirect_uri: z.string().min(1),
    code_verifier: z.string().min(1),
  }),
  z.object({ grant_type: z.literal('refresh_token'), refresh_token: z.string().min(1), scope: z.string().optional() }),
]);

type GrantRequest = z.infer<typeof grantSchema>;

const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

function refuse(world: World, c: Context<SandboxEnv>, error: ErrorCode, description: string): Response {
  const { canary } = world.settings;
  const withBasic = error === 'invalid_client' && c.req.header('authorization') !== undefined;
  return Response.json(
    { error, error_description: canary === '' ? description : `${description} ${canary}` },
    {
      status: error === 'invalid_client' ? 401 : 400,
      headers: { ...NO_STORE, ...(withBasic ? { 'WWW-Authenticate': 'Basic realm="sandbox"' } : {}) },
    },
  );
}

function enter(call: LedgerCall, grant: GrantRequest): void {
  call.grantType = grant.grant_type;
  call.tokenFingerprint = fingerprint(grant.grant_type === 'refresh_token' ? grant.refresh_token : grant.code);
  call.reuse = false;
}

function exchange(world: World, grant: GrantRequest): IssuedTokens | Refusal {
  return grant.grant_type === 'authorization_code'
    ? world.grants.exchangeCode(grant.code, grant.redirect_uri, grant.code_verifier)
    : world.grants.refresh(grant.refresh_token, grant.scope?.split(' '));
}

function widens(world: World, grant: GrantRequest): boolean {
  if (grant.grant_type !== 'refresh_token' || grant.scope === undefined) return false;
  const granted = new Set(world.grants.scopesOf(grant.refresh_token));
  return granted.size > 0 && grant.scope.split(' ').some((scope) => !granted.has(scope));
}

async function token(world: World, c: Context<SandboxEnv>): Promise<Response> {
  const form = Object.fromEntries(new URLSearchParams(await c.req.text()));
  const parsed = grantSchema.safeParse(form);
  const call = c.get('call');
  if (parsed.success) enter(call, parsed.data);
  if (!clientIsAuthentic(world.settings, c.req.header('authorization'), form)) {
    return refuse(world, c, 'invalid_client', 'The client is unknown or does not authenticate as agreed.');
  }
  if (!parsed.success) {
    const known = ['authorization_code', 'refresh_token', undefined].includes(form.grant_type);
    return refuse(world, c, known ? 'invalid_request' : 'unsupported_grant_type', z.prettifyError(parsed.error));
  }
  if (widens(world, parsed.data)) return refuse(world, c, 'invalid_scope', 'The scope was not granted.');
  const result = exchange(world, parsed.data);
  if ('refused' in result) {
    call.reuse = result.reuse;
    if (result.reuse) call.violation = `${parsed.data.grant_type} used a second time`;
    return refuse(world, c, 'invalid_grant', result.refused);
  }
  const answer = {
    access_token: result.accessToken,
    token_type: 'Bearer',
    expires_in: result.expiresInSeconds,
    refresh_token: result.refreshToken,
    scope: result.scopes.join(' '),
  };
  return Response.json(answer, { headers: NO_STORE });
}

/** `POST /auth/oauth/token` (RFC 6749, sections 4.1.3, 5 and 6). */
export function addTokenEndpoint(app: SandboxApp, world: World): void {
  app.post('/auth/oauth/token', track(world, 'token'), (c) => token(world, c));
}

type Way = Settings['clientAuthentication'][number];

function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The valid readings of an `Authorization: Basic` header: encoded first (RFC 6749, 2.3.1), not encoded, or both. */
function waysOfBasic(authorization: string, { clientId, clientSecret }: Settings): Way[] {
  if (!/^basic /i.test(authorization)) return [];
  const decoded = Buffer.from(authorization.slice('Basic '.length), 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  const id = decoded.slice(0, colon);
  const secret = decoded.slice(colon + 1);
  const ways: Way[] = [];
  if (id === clientId && secret === clientSecret) ways.push('basic_raw');
  if (formDecode(id) === clientId && formDecode(secret) === clientSecret) ways.push('basic');
  return ways;
}

/** Whether the client of a token request (`form`: its body) authenticates in an accepted way. */
function clientIsAuthentic(
  settings: Settings,
  authorization: string | undefined,
  form: Record<string, string>,
): boolean {
  const accepted = settings.clientAuthentication;
  if (authorization !== undefined) return waysOfBasic(authorization, settings).some((way) => accepted.includes(way));
  if (form.client_id !== settings.clientId) return false;
  if (form.client_secret === undefined) return accepted.includes('none');
  return accepted.includes('post') && form.client_secret === settings.clientSecret;
}
