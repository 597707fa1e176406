import type { Context } from 'hono';
import { z } from 'zod';
import type { Entity } from '../../core/config/entities.ts';
import { COLUMNS, fieldNames, ID_FIELD } from '../data/entity-columns.ts';
import { type ExportRequest, exportContent } from '../files/content.ts';
import { signedFileUrl } from '../files/route.ts';
import { bearer, entityOf, problem, track } from '../track.ts';
import { type Job, marked, type SandboxApp, type SandboxEnv, type World } from '../world.ts';

type SandboxContext = Context<SandboxEnv>;

/** The body of a request as JSON. @throws HTTPException 400 if the body is not JSON. */
export async function readJson(world: World, c: SandboxContext): Promise<unknown> {
  try {
    return JSON.parse(await c.req.text());
  } catch {
    throw problem(world, 400, 'invalid_json', 'The body is not JSON.');
  }
}

function jobOf(world: World, c: SandboxContext): Job {
  const job = world.jobs.find(entityOf(world, c), c.req.param('id') ?? '');
  if (job) return job;
  throw problem(world, 404, 'not_found', 'There is no such export record.');
}

function listFields(world: World, c: SandboxContext): Response {
  const columns = COLUMNS[entityOf(world, c)];
  return Response.json([ID_FIELD, ...columns.map(({ value: _, ...field }) => field)]);
}

async function create(world: World, c: SandboxContext): Promise<Response> {
  const entity = entityOf(world, c);
  const call = c.get('call');
  call.request = await readJson(world, c);
  const request = readExportRequest(world, entity, call.request);
  const job = world.jobs.create(entity, exportContent(world, entity, request));
  call.exportId = job.id;
  return Response.json({ id: job.id }, { status: 201 });
}

function readStatus(world: World, c: SandboxContext): Response {
  const job = jobOf(world, c);
  job.reads += 1;
  const { id, entity } = job;
  const status = c.get('hit').effect.status ?? world.jobs.statusOf(job);
  const createdAt = new Date(job.createdAt).toISOString();
  return Response.json({ id, entity, status, createdBy: marked(world, 'דנה לוי'), createdAt });
}

function requestFile(world: World, c: SandboxContext): Response {
  const job = jobOf(world, c);
  const status = world.jobs.statusOf(job);
  if (status !== 'PROCESSED') throw problem(world, 409, 'not_processed', `The export is ${status}.`);
  return Response.json({ url: signedFileUrl(world, new URL(c.req.url).origin, job) });
}

/** The three stages of an export and the listing of fields (`docs/interface/reference.md`). */
export function addExports(app: SandboxApp, world: World): void {
  const route = '/api/v1/:entity';
  const mayExport = bearer(world, 'global:export');
  app.get(`${route}/fields`, track(world, 'fields'), mayExport, (c) => listFields(world, c));
  app.post(`${route}/exports`, track(world, 'create'), mayExport, (c) => create(world, c));
  app.get(`${route}/exports/:id`, track(world, 'status'), mayExport, (c) => readStatus(world, c));
  app.post(`${route}/exports/:id/download`, track(world, 'download'), mayExport, (c) => requestFile(world, c));
}

/** Filters have no effect: the interface document does not name their operators, nor how to join two filters. */
const requestSchema = z.looseObject({
  columns: z.array(z.string()).nonempty(),
  sorts: z.array(z.object({ field: z.string(), dir: z.enum(['asc', 'desc']) })).default([]),
  filters: z.array(z.object({ field: z.string() })).default([]),
});

/**
 * The export request in a body; keys that the document does not have are accepted.
 * @throws HTTPException 400 that names what does not hold, unknown field names included.
 */
function readExportRequest(world: World, entity: Entity, body: unknown): ExportRequest {
  const { data, error } = requestSchema.safeParse(body);
  if (!data) throw problem(world, 400, 'invalid_request', z.prettifyError(error));
  const names = new Set(fieldNames(entity));
  const used = [...data.columns, ...[...data.sorts, ...data.filters].map(({ field }) => field)];
  const fields = used.filter((name) => !names.has(name));
  if (fields.length === 0) return data;
  throw problem(world, 400, 'unknown_field', `Not fields of ${entity}: ${fields.join(', ')}.`, { fields });
}
