/** One call of the CRM's API. */
export interface CrmCall {
  method: 'get' | 'post' | 'patch';
  /** The path relative to the base address, without a leading slash. */
  path: string;
  /** The path in the interface document, for logs and errors. */
  template: string;
  json?: unknown;
  /** Time limit until the whole answer has arrived; the default is in `crm-client.ts`. */
  timeoutMs?: number;
  /** What confirms an update. `status` ignores the values in the answer. Default: `answer`. */
  confirmation?: 'answer' | 'status';
  /** Seconds until the invocation is killed. The call is sent only if its full time limit is left. */
  secondsLeft?: () => number;
}

/** The name of a call in logs and errors: `GET /leads/fields`. */
export function nameOf({ method, template }: CrmCall): string {
  return `${method.toUpperCase()} ${template}`;
}

/** The operations of the interface (`docs/interface/reference.md`). `address` (stage 3) returns the file's address. */
export type Operation = 'fields' | 'create' | 'status' | 'address' | 'update';

/** The operation that a call belongs to. */
export function operationOf({ method, template }: CrmCall): Operation {
  if (method === 'patch') return 'update';
  if (template.endsWith('/download')) return 'address';
  if (method === 'post') return 'create';
  return template.includes('{id}') ? 'status' : 'fields';
}
