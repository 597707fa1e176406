/** One call of the CRM's interface. */
export interface CrmCall {
  method: 'get' | 'post' | 'patch';
  /** The path relative to the base address, without a leading slash. */
  path: string;
  /** The path in the interface document, for logs and errors. */
  template: string;
  json?: unknown;
  /** How long the call may take until the whole answer is there; the default is in `client.ts`. */
  timeoutMs?: number;
  /** What confirms an update: `status` ignores the values that an answer repeats. Default: `answer`. */
  confirmation?: 'answer' | 'status';
  /** Seconds until the invocation is killed. The call is sent only while its whole time is left. */
  secondsLeft?: () => number;
}

/** What a call is named in logs and errors: `GET /leads/fields`. */
export function nameOf({ method, template }: CrmCall): string {
  return `${method.toUpperCase()} ${template}`;
}

/** The operations of the interface (`docs/interface/reference.md`). `address` is stage 3: it answers the address of the file. */
export type Operation = 'fields' | 'create' | 'status' | 'address' | 'update';

/** The operation that a call belongs to. */
export function operationOf({ method, template }: CrmCall): Operation {
  if (method === 'patch') return 'update';
  if (template.endsWith('/download')) return 'address';
  if (method === 'post') return 'create';
  return template.includes('{id}') ? 'status' : 'fields';
}
