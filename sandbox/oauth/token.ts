import type { Context } from 'hono';
import { z } from 'zod';
import type { Settings } from '../sandbox-settings.ts';
import { track } from '../track.ts';
import { marked, type SandboxApp, type SandboxEnv, type World } from '../world.ts';
import { fingerprint } from './grants.ts';

const grantSchema = z.discriminatedUnion('grant_type', [
  z.object({
    grant_type: z.literal('authorization_code'),
    code: z.string().min(1),
    redirect_uri: z.string().min(1),
    code_verifier: z.string().min(1),
  }),
  z.object({ grant_type: z.literal('refresh_token'), refresh_token: z.string().min(1) }),
]);

const headers = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

function refuse(world: World, error: 'invalid_request' | 'invalid_client' | 'invalid_grant', why: string): Response {
  const status = error === 'invalid_client' ? 401 : 400;
  return Response.json({ error, error_description: marked(world, why) }, { status, headers });
}

async function token(world: World, c: Context<SandboxEnv>): Promise<Response> {
  const form: Record<string, string> = Object.fromEntries(new URLSearchParams(await c.req.text()));
  const call = c.get('call');
  Object.assign(call, { grantType: form.grant_type, reuse: false });
  const presented = form.refresh_token ?? form.code;
  if (presented) call.tokenFingerprint = fingerprint(presented);
  if (!clientIsAuthentic(world.settings, c.req.header('authorization'), form)) {
    return refuse(world, 'invalid_client', 'The client is unknown, or its authentication is wrong.');
  }
  const { data: grant, error } = grantSchema.safeParse(form);
  if (!grant) return refuse(world, 'invalid_request', z.prettifyError(error));
  const result =
    grant.grant_type === 'authorization_code'
      ? world.grants.exchangeCode(grant.code, grant.redirect_uri, grant.code_verifier)
      : world.grants.refresh(grant.refresh_token);
  if ('refused' in result) {
    call.reuse = result.reuse;
    if (result.reuse) call.violation = `${grant.grant_type} used a second time`;
    return refuse(world, 'invalid_grant', result.refused);
  }
  const answer = {
    access_token: result.accessToken,
    token_type: 'Bearer',
    expires_in: result.expiresInSeconds,
    refresh_token: result.refreshToken,
    scope: result.scopes.join(' '),
  };
  return Response.json(answer, { headers });
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
  const [, encoded = ''] = /^basic (.*)$/i.exec(authorization) ?? [];
  const [, id = '', secret = ''] = /^(.*?):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
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
