import { setTimeout as sleep } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { entitySchema } from '../core/config/entities.ts';
import type { CallKind, Effect } from './faults.ts';
import { fingerprint } from './oauth/grants.ts';
import type { LedgerCall, SandboxEnv, World } from './world.ts';

type SandboxContext = Context<SandboxEnv>;

const WITHOUT_BODY = new Set([204, 205, 304]);

function faultAnswer({ status, headers = {}, body }: NonNullable<Effect['answer']>): Response {
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

async function beforeWork(world: World, c: SandboxContext, effect: Effect): Promise<Response | undefined> {
  if (effect.delaySeconds !== undefined) {
    await sleep(effect.delaySeconds * 1000, undefined, { signal: world.closing }).catch(() => undefined);
  }
  if (effect.reset === 'before') return dropConnection(c);
  if (effect.answer && !effect.done) return faultAnswer(effect.answer);
  return effect.redirect === undefined ? undefined : c.redirect(effect.redirect);
}

async function afterWork(world: World, c: SandboxContext, kind: CallKind, effect: Effect, sent: Response) {
  if (effect.reset === 'after') return dropConnection(c);
  // The file route sends its own body.
  const breaks = kind !== 'file' && (effect.hangUp ?? effect.stallAfter) !== undefined;
  return breaks ? await breakOff(world, c, sent, effect) : sent;
}

/** Sends the beginning of the answer, then closes the connection or stays silent. */
async function breakOff(world: World, c: SandboxContext, answer: Response, effect: Effect): Promise<Response> {
  const body = Buffer.from(await answer.arrayBuffer());
  const { outgoing } = c.env;
  outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': body.length });
  outgoing.flushHeaders();
  const hangUp = () => outgoing.destroy();
  if (effect.hangUp === undefined) world.closing.addEventListener('abort', hangUp, { once: true });
  outgoing.write(body.subarray(0, effect.hangUp ?? effect.stallAfter), () => {
    if (effect.hangUp !== undefined) hangUp();
  });
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
    const early = await beforeWork(world, c, hit.effect);
    if (early) {
      if (early !== RESPONSE_ALREADY_SENT) call.status = early.status;
      return early;
    }
    await next();
    const { done, answer } = hit.effect;
    const sent = done && answer ? faultAnswer(answer) : await rewritten(world, kind, c.res);
    const { status } = sent;
    const late = await afterWork(world, c, kind, hit.effect, sent);
    if (late !== c.res) {
      // Assigning twice keeps Hono from copying the headers of the answer that must not arrive.
      c.res = undefined;
      c.res = late;
    }
    if (hit.effect.reset !== 'after') call.status ??= status;
    return undefined;
  };
}

/** The entity of the path. @throws HTTPException 404 where there is no such entity. */
export function entityOf(world: World, c: SandboxContext) {
  const { entity } = c.get('call');
  if (entity === undefined) throw problem(world, { status: 404, code: 'not_found', message: 'No such resource.' });
  return entity;
}

async function rewritten(world: World, kind: CallKind, answer: Response): Promise<Response> {
  return answer === RESPONSE_ALREADY_SENT ? answer : world.settings.rewrite(answer, kind);
}

interface Problem {
  status: ContentfulStatusCode;
  /** The error code for programs. */
  code: string;
  message: string;
  /** Names of the invalid fields of the request. */
  fields?: string[];
  headers?: Record<string, string>;
}

/** Makes a refusal to throw in a handler: `{ error: { code, message, fields? } }`, with the canary in it. */
export function problem({ settings }: World, { status, headers = {}, ...error }: Problem): HTTPException {
  const message = settings.canary === '' ? error.message : `${error.message} ${settings.canary}`;
  const res = Response.json({ error: { ...error, message } }, { status, headers });
  return new HTTPException(status, { res });
}

/** Requires a valid `Authorization: Bearer` token with the scope: 401 and 403 otherwise (RFC 6750). */
export function bearer(world: World, scope: string): MiddlewareHandler<SandboxEnv> {
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
    if (!scopes.includes(scope)) {
      const challenge = `, error="insufficient_scope", scope="${scope}"`;
      throw refusal(403, 'insufficient_scope', `The scope ${scope} is missing.`, challenge);
    }
    await next();
  };
}
