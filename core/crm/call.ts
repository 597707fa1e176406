import { RunError } from '../errors.ts';

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
  /** Seconds until the invocation is killed. The call is sent only while its whole time is left. */
  secondsLeft?: () => number;
}

/** What a call is named in logs and errors: `GET /leads/fields`. */
export function nameOf({ method, template }: CrmCall): string {
  return `${method.toUpperCase()} ${template}`;
}

/** The call may have been processed: a create may have made the export. */
export function unanswered(
  call: CrmCall,
  what: string,
  options: { cause?: unknown; retryAfterSeconds?: number | undefined; status?: number } = {},
): RunError {
  const name = isCreate(call) ? 'CreateUnanswered' : 'CrmUnavailable';
  return new RunError(name, `${nameOf(call)} ${what}.`, options);
}

/** Stage 1: makes an export at every repetition. */
export function isCreate(call: CrmCall): boolean {
  return call.method === 'post' && call.template.endsWith('/exports');
}
