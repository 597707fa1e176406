import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';

/**
 * Starts by a rule that ended green and requested nothing: another start of the rule is the one for that date, or another
 * execution has the same start. They are no runs.
 */
const outcomeSchema = z.enum(['NOT_DUE', 'ALREADY_STARTED']);
const outputSchema = z.object({ outcome: outcomeSchema, startedBy: z._default(z.nullable(z.string()), null) });

export type WithoutJob = z.infer<typeof outputSchema>;

/** `undefined` for a run. */
export function withoutJobOf(output: string | undefined): WithoutJob | undefined {
  return parseJson(outputSchema, output);
}

/** For a table. */
export function withoutJobText({ outcome }: WithoutJob): string {
  return outcome === 'NOT_DUE' ? 'not due' : 'already started';
}

/** Why it requested nothing. */
export function withoutJobSentence({ outcome, startedBy }: WithoutJob): string {
  if (outcome === 'NOT_DUE') return 'not due: another start of the rule is the one for this date';
  return `already started: ${startedBy ?? 'another execution'} has this start of the rule`;
}
