import { createHmac } from 'node:crypto';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { entityOf, track } from '../track.ts';
import type { FileContent, Job, SandboxApp, SandboxEnv, World } from '../world.ts';
import { bufferContent } from './content.ts';
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
  const { effect } = c.get('hit');
  const { outgoing } = c.env;
  const call = c.get('call');
  const etag = effect.etag ?? content.etag;
  call.range = c.req.header('range');
  if (![undefined, etag].includes(c.req.header('if-match'))) return xml(world, 412, 'PreconditionFailed');
  const { status, from, to, contentRange } = partOf(content, call.range);
  call.status = status;
  outgoing.statusCode = status;
  outgoing.setHeader('Content-Type', effect.contentType ?? 'text/csv; charset=utf-8');
  outgoing.setHeader('Content-Disposition', `attachment; filename="${entityOf(world, c)}.csv"`);
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

/** The file server: plain GET of a signed address, with If-Match and Range. */
export function addFiles(app: SandboxApp, world: World): void {
  app.get('/files/:entity/:id/:name', track(world, 'file'), (c) => getFile(world, c));
}

/** The part of a file to send, before any fault: `to` is exclusive. */
interface Part {
  status: 200 | 206 | 416;
  from: number;
  to: number;
  contentRange?: string;
}

/** The part that `bytes=a-b` or `bytes=a-` requests. Another range is answered in full, as RFC 9110, 14.2 allows. */
function partOf({ size }: FileContent, range = ''): Part {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
  if (first === undefined) return { status: 200, from: 0, to: size };
  const from = Number(first);
  const to = last ? Math.min(Number(last) + 1, size) : size;
  if (from >= to) return { status: 416, from: 0, to: 0, contentRange: `bytes */${size}` };
  return { status: 206, from, to, contentRange: `bytes ${from}-${to - 1}/${size}` };
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
