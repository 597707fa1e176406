import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { Entity } from '../../core/config/entities.ts';
import { bufferContent, type FileContent, strongEtag } from '../world/content.ts';
import type { Job } from '../world/jobs.ts';
import type { Settings } from '../world/settings.ts';
import { entityOf, track } from '../world/track.ts';
import type { SandboxApp, SandboxEnv, World } from '../world/world.ts';
import { rewritten } from './rewrite.ts';
import { sendBody } from './send.ts';
import { urlRefusal } from './signature.ts';

type SandboxContext = Context<SandboxEnv>;

function xml(world: World, status: number, code: string): Response {
  const { canary } = world.settings;
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${canary}</Message></Error>`;
  return new Response(body, { status, headers: { 'Content-Type': 'application/xml' } });
}

/** The refusal of a request that is not a plain GET of a valid, signed address. */
function refusal(world: World, c: SandboxContext, job: Job | undefined): Response | undefined {
  const credentials = ['authorization', 'cookie'].filter((name) => c.req.header(name) !== undefined);
  if (credentials.length > 0) {
    c.get('call').violation = `${credentials.join(' and ')} sent to the file server`;
    return xml(world, 400, 'InvalidRequest');
  }
  if (c.req.method !== 'GET') return xml(world, 403, 'SignatureDoesNotMatch');
  const url = new URL(c.req.url);
  const uses = job?.fetched.filter((query) => query === url.search).length ?? 0;
  const reason = urlRefusal(world, url, uses);
  job?.fetched.push(url.search);
  return reason === undefined ? undefined : xml(world, 403, reason);
}

function setHeaders(c: SandboxContext, entity: Entity, etag: string, range: boolean): void {
  const { outgoing } = c.env;
  const { contentType, contentDisposition, gzip, noEtag } = c.get('hit').effect;
  outgoing.setHeader('Content-Type', contentType ?? 'text/csv; charset=utf-8');
  const disposition = contentDisposition ?? `attachment; filename="${entity}.csv"`;
  if (disposition !== '') outgoing.setHeader('Content-Disposition', disposition);
  if (!noEtag) outgoing.setHeader('ETag', etag);
  if (gzip) outgoing.setHeader('Content-Encoding', 'gzip');
  else if (range) outgoing.setHeader('Accept-Ranges', 'bytes');
}

function etagOf(c: SandboxContext, content: FileContent): string {
  const { effect, callNumber } = c.get('hit');
  const changed = effect.etagChangesAt !== undefined && callNumber >= effect.etagChangesAt;
  return changed ? strongEtag(content.etag, 'changed') : content.etag;
}

async function send(world: World, c: SandboxContext, content: FileContent): Promise<Response> {
  const { range } = world.settings;
  const { effect } = c.get('hit');
  const call = c.get('call');
  const etag = etagOf(c, content);
  const requested = c.req.header('range');
  if (requested !== undefined) call.range = requested;
  const taken = range && !effect.ignoreRange && !effect.gzip ? requested : undefined;
  const { emptyRange } = world.settings;
  if (content.size === 0 && taken !== undefined && emptyRange !== null) return sendEmpty(c, emptyRange);
  const { status, from, to, contentRange } = plan(content, etag, {
    range: taken,
    ifMatch: c.req.header('if-match'),
    ifRange: c.req.header('if-range'),
  });
  call.status = status;
  c.env.outgoing.statusCode = status;
  setHeaders(c, entityOf(world, c), etag, range);
  if (contentRange !== undefined) c.env.outgoing.setHeader('Content-Range', contentRange);
  await sendBody(c.env.outgoing, { chunks: content.read(from, to), length: to - from, effect, call });
  return RESPONSE_ALREADY_SENT;
}

/** What file servers answer to a range of an empty file. */
const EMPTY_RANGES: Record<NonNullable<Settings['emptyRange']>, Record<string, string>> = {
  200: { 'Content-Length': '0' },
  204: {},
  206: { 'Content-Range': 'bytes 0--1/0', 'Content-Length': '0' },
  416: {},
};

function sendEmpty(c: SandboxContext, status: keyof typeof EMPTY_RANGES): Response {
  c.get('call').status = status;
  return new Response(null, { status, headers: EMPTY_RANGES[status] });
}

async function getFile(world: World, c: SandboxContext): Promise<Response> {
  const job = world.jobs.find(entityOf(world, c), c.req.param('id') ?? '');
  const refused = refusal(world, c, job);
  if (refused) return refused;
  if (!job) return xml(world, 404, 'NoSuchKey');
  const { body, written } = c.get('hit').effect;
  const content = body === undefined ? job.content : bufferContent(body);
  return send(world, c, written ? await rewritten(content, entityOf(world, c), written) : content);
}

/** The file server: plain GET of a signed address, with Range and the conditions that go with it. */
export function addFiles(app: SandboxApp, world: World): void {
  app.get('/files/:entity/:id/:name', track(world, 'file'), (c) => getFile(world, c));
}

/** What to answer to a GET of a file, before any fault: `to` is exclusive. */
interface Plan {
  status: 200 | 206 | 412 | 416;
  from: number;
  to: number;
  contentRange?: string;
}

type Conditions = Record<'range' | 'ifMatch' | 'ifRange', string | undefined>;

/** The one range of `bytes=a-b`, `bytes=a-` or `bytes=-n`; null where no byte of it exists; undefined where it is none. */
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
