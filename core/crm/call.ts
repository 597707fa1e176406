import type { Entity } from '../config/entities.ts';

/** The operations of the interface (`docs/interface/reference.md`). `address` is stage 3: it returns the file's URL. */
const OPERATIONS = {
  fields: ['get', '/{entity}/fields'],
  create: ['post', '/{entity}/exports'],
  status: ['get', '/{entity}/exports/{id}'],
  address: ['post', '/{entity}/exports/{id}/download'],
  update: ['patch', '/{entity}/{id}'],
} as const;
export type Operation = keyof typeof OPERATIONS;

export interface CrmCall {
  operation: Operation;
  entity: Entity;
  /** The id of the export, or of the customer to update. */
  id?: string;
  json?: unknown;
  /** Time limit for the whole answer; the default is in `crm-client.ts`. */
  timeoutMs?: number;
  /** What confirms an update. With `status`, the values in the answer are ignored. Default: `answer`. */
  confirmation?: 'answer' | 'status';
  /** Seconds until the invocation times out. The call is sent only if its whole time limit is left. */
  secondsLeft?: () => number;
}

/** The method and path of a call. Logs and errors show `template`, the interface document's path without the id. */
export function requestOf({ operation, entity, id = '' }: CrmCall) {
  const [method, pattern] = OPERATIONS[operation];
  const template = pattern.replace('{entity}', entity);
  // The path relative to the base URL, without a leading slash.
  const path = template.slice(1).replace('{id}', () => id);
  return { method, template, path };
}

/** The name of a call in logs and errors: `GET /leads/fields`. */
export function nameOf(call: CrmCall): string {
  const { method, template } = requestOf(call);
  return `${method.toUpperCase()} ${template}`;
}
