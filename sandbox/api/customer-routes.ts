import type { Context } from 'hono';
import { z } from 'zod';
import { type CrmRecord, indexOf } from '../data/records.ts';
import { bytesOf, rowsOf } from '../sandbox-settings.ts';
import { bearer, problem, track } from '../track.ts';
import { marked, type SandboxApp, type SandboxEnv, type World } from '../world.ts';
import { updateSchema } from './customer-rules.ts';
import { readJson } from './export-routes.ts';

function customerIndex(world: World, id: string): number {
  const index = z.guid().safeParse(id).success ? indexOf('customers', id) : null;
  const count = bytesOf(world.settings, 'customers') === null ? rowsOf(world.settings, 'customers') : Number.MAX_VALUE;
  if (index === null || index >= count || !world.records.has('customers', index)) {
    throw problem(world, 404, 'not_found', 'There is no such customer.');
  }
  return index;
}

/** What an update stores: all fields except the flag that controls it and the deprecated object. */
const changeSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

/** The change in the body of an update. @throws HTTPException 422 with the names of unknown and invalid fields */
function readChange(world: World, body: unknown): CrmRecord {
  const { data, error } = updateSchema.safeParse(body);
  if (data) {
    const { updateRelated: _flag, customFields: _deprecated, ...change } = data;
    return changeSchema.parse(change);
  }
  const fields = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : issue.path.slice(0, 1).map(String),
  );
  throw problem(world, 422, 'validation_failed', `Not valid: ${fields.join(', ') || 'the body'}.`, { fields });
}

/** Adds the canary to unchanged fields only: a changed field must come back unchanged to confirm the update. */
function withCanary(world: World, record: CrmRecord, changed: CrmRecord): CrmRecord {
  const kept = (name: string) => world.settings.canary === '' || name === 'id' || Object.hasOwn(changed, name);
  const cells = Object.entries(record).map(([name, value]) => [name, kept(name) ? value : marked(world, value ?? '')]);
  return Object.fromEntries(cells);
}

async function update(world: World, c: Context<SandboxEnv>): Promise<Response> {
  const call = c.get('call');
  const id = c.req.param('id') ?? '';
  Object.assign(call, { customerId: id, applied: false });
  const body = await readJson(world, c);
  if (typeof body === 'object' && body !== null) call.fieldNames = Object.keys(body);
  const index = customerIndex(world, id);
  const change = readChange(world, body);
  const record = world.records.updateCustomer(index, change);
  call.applied = true;
  return Response.json(withCanary(world, record, change));
}

/** `PATCH /customers/{id}` (`docs/interface/reference.md`). */
export function addCustomers(app: SandboxApp, world: World): void {
  const mayUpdate = bearer(world, 'customers:update');
  app.patch('/api/v1/customers/:id', track(world, 'update'), mayUpdate, (c) => update(world, c));
}
