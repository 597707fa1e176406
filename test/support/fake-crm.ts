import * as z from 'zod';
import { type CrmCall, requestOf } from '../../core/crm/call.ts';
import type { CrmClient } from '../../core/crm/crm-client.ts';

/**
 * A client of the CRM that answers from a list, in order: `['get /leads/fields', [{ fieldName: 'id' }]]`. It throws an
 * Error in place of an answer. A third part is a Retry-After in seconds. An unlisted call is a bug of the step.
 */
export function fakeCrm(...answers: [call: string, answer: unknown, retryAfterSeconds?: number | undefined][]) {
  const left = [...answers];
  const calls: { line: string; json: unknown }[] = [];
  const given: CrmCall[] = [];
  const crm: CrmClient = {
    call: async (call, schema, onRetryAfter) => {
      const { method, template } = requestOf(call);
      const line = `${method} ${template}`;
      calls.push({ line, json: call.json });
      given.push(call);
      const next = left.shift();
      if (next?.[0] !== line) throw new Error(`the fake CRM expected ${next?.[0] ?? 'no more calls'}, got ${line}`);
      if (next[1] instanceof Error) throw next[1];
      if (next[2] !== undefined) onRetryAfter?.(next[2]);
      return z.parse(schema, next[1]);
    },
  };
  return { ...crm, calls, given, left };
}
