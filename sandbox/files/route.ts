import { createHmac } from 'node:crypto';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { entityOf, track } from '../track.ts';
import type { FileContent, Job, SandboxApp, SandboxEnv, World } from '../world.ts';
import { bufferContent, strongEtag } from './content.ts';
import { sendBody } from './send.ts';

type SandboxContext = Context<SandboxEnv>;

function xml(world: World, status: number, code: string): Response {
  const { canary } = world.settings;
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${canary}</Message></Error>`;
  return new Response(body, { status, headers: { 'Content-Type': 'application/xml' } });
}

/** The refusal of a request other than a plain GET of a valid, signed address. */
function refusal(world: World, c: SandboxContext): Response | undefined {
  const credentials = ['authorization', 'cookie'].filter((name) => c.req.header(name) !== undefined);
  if (credentials.length > 0) {
    c.get('call').violation = `${credentials.join(' and ')} sent to the file server`;
    return xml(world, 400, 'InvalidRequest');
  }
  if (c.req.method !== 'GET') return xml(world, 403, 'SignatureDoesNotMatch');
  const reason = urlRefusal(world, new URL(c.req.url));
  return reason === undefined ? undefined : xml(world, 403, reason);
}

async function send(world: World, c: SandboxContext, content: FileContent): Promise<Response> {
  const { effect, callNumber } = c.get('hit');
  const { outgoing } = c.env;
  const call = c.get('call');
  const entity = entityOf(world, c);
  const isChanged = effect.etagChangesAt !== undefined && callNumber >= effect.etagChangesAt;
  const etag = isChanged ? strongEtag(content.etag, 'changed') : content.etag;
  const range = c.req.header('range');
  if (range !== undefined) call.range = range;
  const conditions = { range, ifMatch: c.req.header('if-match'), ifRange: c.req.header('if-range') };
  const { status, from, to, contentRange } = plan(content, etag, conditions);
  call.status = status;
  outgoing.statusCode = status;
  outgoing.setHeader('Content-Type', effect.contentType ?? 'text/csv; charset=utf-8');
  outgoing.setHeader('Content-Disposition', `attachment; filename="${entity}.csv"`);
  outgoing.setHeader('ETag', etag);
  outgoing.setHeader('Accept-Ranges', 'bytes');
  if (contentRange !== undefined) outgoing.setHeader('Content-Range', contentRange);
  await sendBody(outgoing, { chunks: content.read(from, to), length: to - from, effect, call });
  return RESPONSE_ALREADY_SENT;
}

async function getFile(world: World, c: SandboxContext): Promise<Response> {
  const job = world.jobs.find(entityOf(world, c), c.req.param('id') ?? '');
  const refused = refusal(world, c);
  if (refused) return refused;
  if (!job) return xml(world, 404, 'NoSuchKey');
  const { content, entity } = job;
  const { body } = c.get('hit').effect;
  if (body === undefined) return send(world, c, content);
  const whole = () => Buffer.concat([...content.read(0, content.size)]);
  return send(world, c, bufferContent(typeof body === 'function' ? body(whole(), entity) : body));
}

/** The file server: plain GET of a signed address, with Range and the conditions that go with it. */
export function addFiles(app: SandboxApp, world: World): void {
  app.get('/files/:entity/:id/:name', track(world, 'file'), (c) => getFile(world, c));
}

/** The answer to a GET of a file, before any fault: `to` is exclusive. */
interface Plan {
  status: 200 | 206 | 412 | 416;
  from: number;
  to: number;
  contentRange?: string;
}

type Conditions = Record<'range' | 'ifMatch' | 'ifRange', string | undefined>;

/**
 * The range of `bytes=a-b`, `bytes=a-` or `bytes=-n`. Null if it has no byte of the file; undefined if it is no range.
 */
function parseRange(range: string, size: number): { from: number; to: number } | null | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(range);
  const first = match?.[1] ?? '';
  const last = match?.[2] ?? '';
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? null : { from: size - length, to: size };
  }
  const from = Number(first);
  const to = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < from) return undefined;
  return from >= size ? null : { from, to };
}

/** Applies If-Match, If-Range and Range (RFC 9110, sections 13 and 14). Several ranges at once are answered in full. */
function plan({ size }: FileContent, etag: string, { range, ifMatch, ifRange }: Conditions): Plan {
  const full: Plan = { status: 200, from: 0, to: size };
  const matches = ifMatch === undefined || ifMatch.split(',').some((entry) => ['*', etag].includes(entry.trim()));
  if (!matches) return { status: 412, from: 0, to: 0 };
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return full;
  const wanted = parseRange(range, size);
  if (wanted === undefined) return full;
  if (wanted === null) return { status: 416, from: 0, to: 0, contentRange: `bytes */${size}` };
  return { status: 206, ...wanted, contentRange: `bytes ${wanted.from}-${wanted.to - 1}/${size}` };
}

function sign({ fileKey, settings }: World, path: string, expires: number): string {
  const mac = createHmac('sha256', fileKey).update(`${path}\n${expires}`).digest('base64url');
  return settings.canary === '' ? mac : `${settings.canary}.${mac}`;
}

/** The address of an export's file, valid for `urlSeconds`: anyone who has it may fetch the file. */
export function signedFileUrl(world: World, origin: string, { entity, id }: Job): URL {
  const url = new URL(`/files/${entity}/${id}/${entity}.csv`, origin);
  const expires = world.clock.now() + world.settings.urlSeconds * 1000;
  url.searchParams.set('expires', String(expires));
  url.searchParams.set('signature', sign(world, url.pathname, expires));
  return url;
}

/** Why a file URL is refused; undefined if it is valid. */
function urlRefusal(world: World, { pathname, searchParams }: URL): string | undefined {
  const expires = Number(searchParams.get('expires'));
  if (searchParams.get('signature') !== sign(world, pathname, expires)) return 'SignatureDoesNotMatch';
  return expires <= world.clock.now() ? 'RequestExpired' : undefined;
}
