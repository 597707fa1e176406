import type { Context } from 'hono';
import { z } from 'zod';
import { type CrmRecord, indexOf } from '../data/records.ts';
import { bytesOf, rowsOf } from '../sandbox-settings.ts';
import { bearer, problem, track } from '../track.ts';
import type { SandboxApp, SandboxEnv, World } from '../world.ts';
import { fieldsAtFault } from './customer-rules.ts';
import { readJson } from './export-routes.ts';

function customerIndex(world: World, id: string): number {
  const index = z.guid().safeParse(id).success ? indexOf('customers', id) : null;
  const count = bytesOf(world.settings, 'customers') === null ? rowsOf(world.settings, 'customers') : Number.MAX_VALUE;
  if (index === null || index >= count || !world.records.has('customers', index)) {
    throw problem(world, { status: 404, code: 'not_found', message: 'There is no such customer.' });
  }
  return index;
}

/** The values that an update may store. */
const changeSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
const updateSchema = z.record(z.string(), z.unknown());

function readUpdate(world: World, body: unknown): Record<string, unknown> {
  const object = updateSchema.safeParse(body);
  const fields = object.success ? fieldsAtFault(object.data) : [];
  if (object.success && fields.length === 0) return object.data;
  const message = `Not valid: ${fields.join(', ') || 'the body'}.`;
  throw problem(world, { status: 422, code: 'validation_failed', message, fields });
}

/** The stored part of an update: all fields except the flag that steers it and the deprecated object. */
function toChange({ updateRelated: _flag, customFields: _deprecated, ...update }: Record<string, unknown>): CrmRecord {
  return changeSchema.parse(update);
}

/** Adds the canary to unchanged fields only: a changed field must come back unchanged to confirm the update. */
function withCanary(record: CrmRecord, canary: string, changed: CrmRecord): CrmRecord {
  if (canary === '') return record;
  const kept = (name: string) => name === 'id' || Object.hasOwn(changed, name);
  const marked = Object.entries(record).map(([name, value]) => [name, kept(name) ? value : `${value ?? ''} ${canary}`]);
  return Object.fromEntries(marked);
}

async function update(world: World, c: Context<SandboxEnv>): Promise<Response> {
  const call = c.get('call');
  const id = c.req.param('id') ?? '';
  Object.assign(call, { customerId: id, applied: false });
  const body = await readJson(world, c);
  if (typeof body === 'object' && body !== null) call.fieldNames = Object.keys(body);
  const index = customerIndex(world, id);
  const change = toChange(readUpdate(world, body));
  const record = world.records.updateCustomer(index, change);
  call.applied = true;
  return Response.json(withCanary(record, world.settings.canary, change));
}

/** `PATCH /customers/{id}` (`docs/interface/reference.md`). */
export function addCustomers(app: SandboxApp, world: World): void {
  const mayUpdate = bearer(world, 'customers:update');
  app.patch('/api/v1/customers/:id', track(world, 'update'), mayUpdate, (c) => update(world, c));
}
