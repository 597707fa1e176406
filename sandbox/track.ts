import { setTimeout as sleep } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { entitySchema } from '../core/config/entity-schema.ts';
import type { CallKind, Effect, Hit } from './faults.ts';
import { sendBody } from './files/send.ts';
import { fingerprint } from './oauth/grants.ts';
import { type LedgerCall, marked, type SandboxEnv, type World } from './world.ts';

type SandboxContext = Context<SandboxEnv>;

const WITHOUT_BODY = new Set([204, 205, 304]);

function faultAnswer({ status, headers = {}, body, base64 }: NonNullable<Effect['answer']>): Response {
  if (base64 !== undefined) return new Response(Buffer.from(base64, 'base64'), { status, headers });
  if (body === undefined || WITHOUT_BODY.has(status)) return new Response(null, { status, headers });
  return typeof body === 'string' ? new Response(body, { status, headers }) : Response.json(body, { status, headers });
}

function dropConnection(c: SandboxContext): Response {
  c.env.incoming.socket.resetAndDestroy();
  return RESPONSE_ALREADY_SENT;
}

function openCall(world: World, c: SandboxContext, kind: CallKind): LedgerCall {
  const named = entitySchema.safeParse(kind === 'update' ? 'customers' : c.req.param('entity'));
  const exportId = kind === 'update' ? undefined : c.req.param('id');
  const call = world.ledger.open({ method: c.req.method, path: c.req.path, kind });
  if (named.success) call.entity = named.data;
  if (exportId !== undefined) call.exportId = exportId;
  if (new URL(c.req.url).searchParams.has('access_token')) call.violation = 'access token in the query';
  return call;
}

async function beforeWork(world: World, c: SandboxContext, { effect, removed }: Hit): Promise<Response | undefined> {
  if (effect.delaySeconds !== undefined) {
    const signal = AbortSignal.any([world.closing, removed]);
    await sleep(effect.delaySeconds * 1000, undefined, { signal }).catch(() => undefined);
  }
  if (effect.reset === 'before') return dropConnection(c);
  return effect.answer && !effect.done ? faultAnswer(effect.answer) : undefined;
}

async function afterWork(c: SandboxContext, kind: CallKind, effect: Effect, sent: Response) {
  if (effect.reset === 'after') return dropConnection(c);
  // The file route sends its own body.
  if (kind === 'file' || (effect.hangUp ?? effect.stallAfter) === undefined) return sent;
  const { outgoing } = c.env;
  const body = Buffer.from(await sent.arrayBuffer());
  outgoing.statusCode = sent.status;
  for (const [name, value] of sent.headers) outgoing.setHeader(name, value);
  await sendBody(outgoing, { chunks: [body], length: body.length, effect, call: c.get('call') });
  return RESPONSE_ALREADY_SENT;
}

/** The first handler of every route: ledger, faults common to all routes, and the status of the answer. */
export function track(world: World, kind: CallKind): MiddlewareHandler<SandboxEnv> {
  return async (c, next) => {
    const call = openCall(world, c, kind);
    const hit = world.faults.hit(kind, call.entity, kind === 'update' ? c.req.param('id') : undefined);
    call.faults = hit.ids;
    c.set('call', call);
    c.set('hit', hit);
    const early = await beforeWork(world, c, hit);
    if (early) {
      if (early !== RESPONSE_ALREADY_SENT) call.status = early.status;
      return early;
    }
    await next();
    const { done, answer, reset } = hit.effect;
    const sent = done && answer ? faultAnswer(answer) : await rewritten(world, kind, c.res);
    if (reset !== 'after') call.status ??= sent.status;
    const late = await afterWork(c, kind, hit.effect, sent);
    if (late !== c.res) {
      // Assigning twice keeps Hono from copying the headers of the answer that must not arrive.
      c.res = undefined;
      c.res = late;
    }
    return undefined;
  };
}

/** The entity of the path. @throws HTTPException 404 if the entity does not exist. */
export function entityOf(world: World, c: SandboxContext) {
  const { entity } = c.get('call');
  if (entity === undefined) throw problem(world, 404, 'not_found', 'No such resource.');
  return entity;
}

async function rewritten(world: World, kind: CallKind, answer: Response): Promise<Response> {
  return answer === RESPONSE_ALREADY_SENT ? answer : world.settings.rewrite(answer, kind);
}

/**
 * Makes a refusal to throw in a handler: `{ error: { code, message, fields? } }`, with the canary in it.
 * @param more names of the invalid fields of the request, and headers
 */
export function problem(
  world: World,
  status: ContentfulStatusCode,
  code: string,
  message: string,
  { headers, fields }: { fields?: string[]; headers?: Record<string, string> } = {},
): HTTPException {
  const error = { code, message: marked(world, message), fields };
  return new HTTPException(status, { res: Response.json({ error }, { status, headers }) });
}

/** Requires a valid `Authorization: Bearer` token with the scope: 401 and 403 otherwise (RFC 6750). */
export function bearer(world: World, scope: string): MiddlewareHandler<SandboxEnv> {
  const refusal = (status: 401 | 403, code: string, message: string, challenge = '') => {
    const headers = { 'WWW-Authenticate': `Bearer realm="sandbox"${challenge}` };
    return problem(world, status, code, message, { headers });
  };
  return async (c, next) => {
    const token = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
    if (token === undefined) throw refusal(401, 'unauthorized', 'A bearer token is required.');
    c.get('call').tokenFingerprint = fingerprint(token);
    const scopes = world.grants.check(token);
    if (scopes === null) {
      throw refusal(401, 'invalid_token', 'The token is unknown or expired.', ', error="invalid_token"');
    }
    if (!scopes.includes(scope)) {
      const challenge = `, error="insufficient_scope", scope="${scope}"`;
      throw refusal(403, 'insufficient_scope', `The scope ${scope} is missing.`, challenge);
    }
    await next();
  };
}
