import { setTimeout as sleep } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';
import { entitySchema } from '../../core/config/entities.ts';
import { problem } from './answers.ts';
import type { Effect } from './fault-schema.ts';
import type { CallKind, LedgerCall } from './ledger.ts';
import type { SandboxEnv, World } from './world.ts';

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
  // Files have a sender of their own.
  const breaks = kind !== 'file' && (effect.hangUp ?? effect.stallAfter) !== undefined;
  return breaks ? await breakOff(world, c, sent, effect) : sent;
}

/** Sends the answer's begin, then hangs up or falls silent. */
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

/** The first handler of every route: ledger, faults that are the same everywhere, and the status that was answered. */
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
    const sent = done && answer ? faultAnswer(answer) : c.res;
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
