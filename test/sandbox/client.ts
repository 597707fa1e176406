import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { answerConsent } from '../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../sandbox/sandbox-settings.ts';

export const CALLBACK = 'http://127.0.0.1:9/callback';

/** A sandbox that is closed when the test ends. */
export async function sandboxFor(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ rows: 20, jobChecks: 0, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Calls the API with the given token, by default with a token that has all scopes. */
export function apiOf(sandbox: Sandbox, accessToken = sandbox.issueTokens().accessToken) {
  return (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${sandbox.baseUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${accessToken}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

type Api = ReturnType<typeof apiOf>;

export async function fieldNamesOf(api: Api, entity: string): Promise<string[]> {
  const list = z.array(z.object({ fieldName: z.string() })).parse(await (await api('GET', `/${entity}/fields`)).json());
  return list.map(({ fieldName }) => fieldName);
}

export async function createExport(api: Api, entity: string, request: object): Promise<string> {
  const answer = await api('POST', `/${entity}/exports`, request);
  return z.object({ id: z.guid() }).parse(await answer.json()).id;
}

async function fileUrl(api: Api, entity: string, id: string): Promise<string> {
  const answer = await api('POST', `/${entity}/exports/${id}/download`);
  return z.object({ url: z.url() }).parse(await answer.json()).url;
}

/** The address of a new, finished export (`jobChecks: 0`); all columns by default. */
export async function exportedFile(sandbox: Sandbox, entity = 'leads', request: object = {}): Promise<string> {
  const api = apiOf(sandbox);
  const columns = await fieldNamesOf(api, entity);
  return fileUrl(api, entity, await createExport(api, entity, { columns, ...request }));
}

/** What arrived of an answer, however it ended. */
export async function rawGet(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  const parts: Uint8Array[] = [];
  let complete = true;
  try {
    for await (const part of answer.body ?? []) parts.push(part);
  } catch {
    complete = false;
  }
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    bytes: Buffer.concat(parts),
    complete,
  };
}

const VERIFIER = 'a-code-verifier-of-at-least-43-characters-as-rfc-7636-asks';

/** The address of the consent page, valid unless changed. */
export function authorizeUrl(sandbox: Sandbox, change: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: sandbox.clientId,
    redirect_uri: CALLBACK,
    scope: 'openid global:export',
    state: 'a state',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    ...change,
  });
  return `${sandbox.authUrl}/authorize?${query}`;
}

export async function consentCode(sandbox: Sandbox): Promise<string> {
  return (await answerConsent(authorizeUrl(sandbox), 'allow')).searchParams.get('code') ?? '';
}

const tokenBody = z.object({
  access_token: z.string().default(''),
  refresh_token: z.string().default(''),
  error: z.string().default(''),
  scope: z.string().default(''),
  expires_in: z.number().default(0),
});

/** Asks the token endpoint, by client_secret_post. */
async function askToken(sandbox: Sandbox, form: Record<string, string>) {
  const client = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  const body = new URLSearchParams({ ...client, ...form });
  const answer = await fetch(`${sandbox.authUrl}/oauth/token`, { method: 'POST', body });
  return { status: answer.status, body: tokenBody.parse(await answer.json()) };
}

export function exchange(sandbox: Sandbox, code: string, change: Record<string, string> = {}) {
  const form = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: VERIFIER };
  return askToken(sandbox, { ...form, ...change });
}

export function refresh(sandbox: Sandbox, token: string) {
  return askToken(sandbox, { grant_type: 'refresh_token', refresh_token: token });
}
