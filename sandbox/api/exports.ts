import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { z } from 'zod';
import type { Entity } from '../../core/config/entities.ts';
import type { Column } from '../data/column.ts';
import { COLUMNS, fieldNames, ID_FIELD } from '../data/columns.ts';
import { exportContent } from '../files/export-content.ts';
import { signedFileUrl } from '../files/signature.ts';
import { problem } from '../world/answers.ts';
import type { ExportRequest, Job, JobStatus } from '../world/jobs.ts';
import type { LedgerCall } from '../world/ledger.ts';
import type { Settings } from '../world/settings.ts';
import { entityOf, track } from '../world/track.ts';
import type { SandboxApp, SandboxEnv, World } from '../world/world.ts';
import { bearer } from './bearer.ts';

type SandboxContext = Context<SandboxEnv>;

/** Answers to a create, a listing of fields and a read of the status, in the shapes that the settings know. */
const CREATE_ANSWERS: Record<Settings['createAnswer'], (id: string) => unknown> = {
  id: (id) => ({ id }),
  uuid: (uuid) => ({ uuid }),
  exportId: (exportId) => ({ exportId }),
  data: (id) => ({ data: { id } }),
  string: (id) => id,
  jobId: (jobId) => ({ jobId }),
  nested: (id) => ({ export: { id } }),
  errors: (id) => ({ id, errors: [{ code: 'unknown_column' }] }),
  refusal: () => ({ success: false, errors: [{ code: 'unknown_column' }] }),
};
type Field = Pick<Column, 'fieldName' | 'label' | 'type'>;
const FIELD_LISTS: Record<Settings['fieldsShape'], (list: Field[]) => unknown> = {
  array: (list) => list,
  data: (data) => ({ data }),
  fields: (fields) => ({ fields }),
  items: (items) => ({ items }),
  names: (list) => list.map(({ fieldName }) => fieldName),
  byName: (list) => Object.fromEntries(list.map(({ fieldName, ...field }) => [fieldName, field])),
  name: (list) => list.map(({ fieldName: name, ...field }) => ({ name, ...field })),
  renamed: (list) => list.map(({ fieldName, label, type }) => ({ fieldName, fieldLabel: label, fieldType: type })),
  plain: (list) => list.map(({ fieldName }) => ({ fieldName })),
};
const RECORDS: Record<Settings['recordShape'], (record: { id: string }) => unknown> = {
  bare: (record) => record,
  wrapped: (data) => ({ data }),
  withData: (record) => ({ ...record, data: { rows: 7 } }),
  uuid: ({ id: uuid, ...record }) => ({ uuid, ...record }),
  exportId: ({ id: exportId, ...record }) => ({ exportId, ...record }),
  inExport: (record) => ({ export: record }),
  otherId: (record) => ({ ...record, id: randomUUID() }),
};
const STATUS_WORDS: Record<Settings['statusWords'], (status: JobStatus) => string> = {
  document: (status) => status,
  lower: (status) => status.toLowerCase(),
  others: (status) => ({ INITIATED: 'NEW', PROCESSING: 'RUNNING', PROCESSED: 'COMPLETED' })[status],
};
const LINKS: Record<Settings['linkAnswer'], (url: URL) => unknown> = {
  url: ({ href: url }) => ({ url }),
  data: ({ href: url }) => ({ data: { url } }),
  downloadUrl: ({ href: downloadUrl }) => ({ downloadUrl }),
  relative: ({ pathname, search }) => ({ url: `${pathname}${search}` }),
  null: () => ({ url: null }),
  empty: () => ({ data: { url: '' } }),
};

/** The body of a request as JSON. @throws HTTPException 400 where it is none. */
export async function readJson(world: World, c: SandboxContext): Promise<unknown> {
  try {
    return JSON.parse(await c.req.text());
  } catch {
    throw problem(world, { status: 400, code: 'invalid_json', message: 'The body is not JSON.' });
  }
}

function jobOf(world: World, c: SandboxContext): Job {
  const job = world.jobs.find(entityOf(world, c), c.req.param('id') ?? '');
  if (job) return job;
  throw problem(world, { status: 404, code: 'not_found', message: 'There is no such export record.' });
}

function listFields(world: World, c: SandboxContext): Response {
  const columns = COLUMNS[entityOf(world, c)];
  const list: Field[] = [ID_FIELD, ...columns.map(({ value: _, ...field }) => field)];
  return Response.json(FIELD_LISTS[world.settings.fieldsShape](list));
}

async function create(world: World, c: SandboxContext): Promise<Response> {
  const entity = entityOf(world, c);
  const call = c.get('call');
  const request = readExportRequest(world, call, entity, await readJson(world, c));
  const { exportsAtOnce } = world.settings;
  if (exportsAtOnce && world.jobs.underWay() >= exportsAtOnce.most) {
    const { status } = exportsAtOnce;
    throw problem(world, { status, code: 'EXPORT_RUNNING', message: 'Another export is under way.' });
  }
  const job = world.jobs.create(entity, exportContent(world, entity, request));
  call.exportId = job.id;
  const answer = CREATE_ANSWERS[world.settings.createAnswer](c.get('hit').effect.id ?? job.id);
  return Response.json(answer, { status: world.settings.goodStatus.create ?? 201 });
}

function readStatus(world: World, c: SandboxContext): Response {
  const job = jobOf(world, c);
  job.reads += 1;
  const { id, entity } = job;
  const createdBy = `דנה לוי ${world.settings.canary}`.trimEnd();
  const { recordShape, statusWords, goodStatus } = world.settings;
  const status = c.get('hit').effect.status ?? STATUS_WORDS[statusWords](world.jobs.statusOf(job));
  const record = { id, entity, status, createdBy, createdAt: new Date(job.createdAt).toISOString() };
  return Response.json(RECORDS[recordShape](record), { status: goodStatus.status ?? 200 });
}

function requestFile(world: World, c: SandboxContext): Response {
  const job = jobOf(world, c);
  const { linkAnswer, goodStatus } = world.settings;
  const status = world.jobs.statusOf(job);
  if (status !== 'PROCESSED') {
    throw problem(world, { status: 409, code: 'not_processed', message: `The export is ${status}.` });
  }
  const url = signedFileUrl(world, new URL(c.req.url).origin, job);
  return Response.json(LINKS[linkAnswer](url), { status: goodStatus.download ?? 200 });
}

/** The three stages of an export and the listing of fields (`docs/interface/reference.md`). */
export function addExports(app: SandboxApp, world: World): void {
  const route = '/api/v1/:entity';
  const mayExport = bearer(world, ({ exportScope }) => exportScope);
  app.use('/api/*', async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(world.settings.headers)) c.header(name, value);
  });
  app.get(`${route}/fields`, track(world, 'fields'), mayExport, (c) => listFields(world, c));
  app.post(`${route}/exports`, track(world, 'create'), mayExport, (c) => create(world, c));
  app.get(`${route}/exports/:id`, track(world, 'status'), mayExport, (c) => readStatus(world, c));
  app.post(`${route}/exports/:id/download`, track(world, 'download'), mayExport, (c) => requestFile(world, c));
}

const requestShape = {
  columns: z.array(z.string()).nonempty(),
  sorts: z.array(z.object({ field: z.string(), dir: z.enum(['asc', 'desc']) })).default([]),
  filters: z.array(z.object({ field: z.string(), operator: z.string(), value: z.unknown() })).default([]),
  filtersOperator: z.enum(['and', 'or']).default('and'),
  sendEmail: z.boolean().default(false),
};

const requestSchema = z.looseObject(requestShape);

/**
 * The export request in a body; keys that the document does not have are accepted and noted in the ledger.
 * @throws HTTPException 400 that names what does not hold, unknown field names included.
 */
function readExportRequest(world: World, call: LedgerCall, entity: Entity, body: unknown): ExportRequest {
  call.request = body;
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success) {
    throw problem(world, { status: 400, code: 'invalid_request', message: z.prettifyError(parsed.error) });
  }
  const request = parsed.data;
  call.unknownKeys = Object.keys(request).filter((key) => !Object.hasOwn(requestShape, key));
  const known = new Set(fieldNames(entity));
  const used = [...request.columns, ...[...request.sorts, ...request.filters].map(({ field }) => field)];
  const fields = used.filter((name) => !known.has(name));
  if (fields.length > 0) {
    const message = `Not fields of ${entity}: ${fields.join(', ')}.`;
    throw problem(world, { status: 400, code: 'unknown_field', message, fields });
  }
  return request;
}
