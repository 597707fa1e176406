import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { html } from 'hono/html';
import { isLoopback } from '../../core/config/configuration.ts';
import { track } from '../track.ts';
import type { SandboxApp, SandboxEnv, World } from '../world.ts';
import { type Consent, SCOPES } from './grants.ts';

interface Transaction extends Consent {
  state: string | undefined;
}

type Parameters = Record<string, string | undefined>;

const KNOWN_SCOPES: ReadonlySet<string> = new Set(SCOPES);

/** Why a redirect refuses the request; undefined if the request is valid. */
function refusal(query: Parameters): { error: string; error_description: string } | undefined {
  if (query.response_type !== 'code') {
    return { error: 'unsupported_response_type', error_description: 'Only response_type=code is supported.' };
  }
  if (!/^[\w-]{43}$/.test(query.code_challenge ?? '') || query.code_challenge_method !== 'S256') {
    return { error: 'invalid_request', error_description: 'PKCE with code_challenge_method=S256 is required.' };
  }
  if (!query.scope?.split(' ').every((scope) => KNOWN_SCOPES.has(scope))) {
    return { error: 'invalid_scope', error_description: `Known scopes: ${SCOPES.join(' ')}.` };
  }
  return undefined;
}

function redirectTo(c: Context<SandboxEnv>, redirectUri: string, parameters: Parameters): Response {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return c.redirect(url.href, 302);
}

function ask(world: World, c: Context<SandboxEnv>, open: Map<string, Transaction>) {
  const query: Parameters = c.req.query();
  const { redirect_uri: redirectUri = '', state } = query;
  if (query.client_id !== world.settings.clientId) return c.html(refusalPage('The client is unknown.'), 400);
  if (!isLoopback(redirectUri)) {
    return c.html(refusalPage('The redirect_uri must be an address of this computer.'), 400);
  }
  const refused = refusal(query);
  if (refused) return redirectTo(c, redirectUri, { ...refused, state, iss: issuer(c) });
  const id = randomUUID();
  const scopes = query.scope?.split(' ') ?? [];
  open.set(id, { redirectUri, scopes, challenge: query.code_challenge ?? '', state });
  return c.html(consentPage(world.settings.clientId, scopes, id));
}

async function decide(world: World, c: Context<SandboxEnv>, open: Map<string, Transaction>) {
  const form = new URLSearchParams(await c.req.text());
  const id = form.get('transaction') ?? '';
  const transaction = open.get(id);
  open.delete(id);
  if (!transaction) return c.html(refusalPage('This page was used before or is unknown. Start again.'), 400);
  const { state, redirectUri, ...consent } = transaction;
  const answer =
    form.get('decision') === 'allow'
      ? { code: world.grants.createCode({ redirectUri, ...consent }) }
      : { error: 'access_denied' };
  return redirectTo(c, redirectUri, { ...answer, state, iss: issuer(c) });
}

function issuer(c: Context<SandboxEnv>): string {
  return new URL('/auth', c.req.url).href;
}

/** `GET` and `POST /auth/authorize`: the consent page and what its buttons do (RFC 6749, 4.1.1; RFC 7636; RFC 9207). */
export function addAuthorizeEndpoint(app: SandboxApp, world: World): void {
  const open = new Map<string, Transaction>();
  app.get('/auth/authorize', track(world, 'authorize'), (c) => ask(world, c, open));
  app.post('/auth/authorize', track(world, 'authorize'), (c) => decide(world, c, open));
}

type Html = ReturnType<typeof html>;

const page = (title: string, content: Html) => html`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>${title} - Sandbox CRM</title></head>
  <body><h1>${title}</h1>${content}</body>
</html>`;

/** The page that asks a person to grant these scopes. `transaction` identifies the request. */
function consentPage(clientId: string, scopes: string[], transaction: string): Html {
  return page(
    'Allow access?',
    html`<p><strong>${clientId}</strong> asks for</p>
      <ul>${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}</ul>
      <form method="post" action="/auth/authorize">
        <input type="hidden" name="transaction" value="${transaction}" />
        <button type="submit" name="decision" value="allow">Allow</button>
        <button type="submit" name="decision" value="deny">Deny</button>
      </form>`,
  );
}

/** The page that explains a refusal when redirecting is not safe. */
function refusalPage(reason: string): Html {
  return page('This request cannot be granted', html`<p>${reason}</p>`);
}
