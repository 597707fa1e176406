import { RunError } from '../errors.ts';

/** One call of the service's interface. */
export interface Call {
  method: 'get' | 'post' | 'patch';
  /** Relative to the base address, without a leading slash. */
  path: string;
  /** The path as the interface document writes it, for logs and errors. */
  template: string;
  json?: unknown;
  /** Of the call with its whole answer; by default that of `client.ts`. */
  timeoutMs?: number;
  /** Until the invocation is killed. The call is sent only while its whole time is left. */
  secondsLeft?: () => number;
}

/** The call may have been done: a create may have made the export. */
export function unanswered(
  call: Call,
  what: string,
  options: { cause?: unknown; retryAfterSeconds?: number | undefined; status?: number } = {},
): RunError {
  const name = isCreate(call) ? 'CreateUnanswered' : 'CrmUnavailable';
  return new RunError(name, `${call.method.toUpperCase()} ${call.template} ${what}.`, options);
}

/** Stage 1: the call that makes something at every repetition. */
export function isCreate(call: Call): boolean {
  return call.method === 'post' && call.template.endsWith('/exports');
}
