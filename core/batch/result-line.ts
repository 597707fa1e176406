import * as z from 'zod';
import { ERRORS, type ErrorName, RunError } from '../errors.ts';

/** Every outcome of a line, and what it means for the customer. */
export const OUTCOMES = {
  APPLIED: 'the CRM confirmed the change',
  REJECTED: 'the CRM refused the change for what it is (400, 404: no such customer, 409, 412, 422): correct the line',
  FAILED: 'the CRM did not take the change (401, 403; 429 after the retries): send it again',
  UNKNOWN:
    'sent, and nothing confirms or rules out the change (no answer, 408, 425, a 5xx, a 2xx that is no JSON object): send it again',
  NOT_SENT: 'never sent',
} as const;
export type LineOutcome = keyof typeof OUTCOMES;

const outcomeSchema = z.enum(Object.keys(OUTCOMES) as [LineOutcome, ...LineOutcome[]]).describe(
  Object.entries(OUTCOMES)
    .map(([outcome, meaning]) => `${outcome}: ${meaning}.`)
    .join(' '),
);

/** One line of `result.jsonl`: the outcome of one line of the input. An id, and no other value of a customer. */
export const resultLineSchema = z.strictObject({
  line: z.int().min(1).describe('Line of the input.'),
  id: z.guid().describe('The customer.'),
  outcome: outcomeSchema,
  error: z
    .enum(Object.keys(ERRORS) as [ErrorName, ...ErrorName[]])
    .nullable()
    .describe('Name of the error; null when applied.'),
  status: z.int().min(100).max(599).nullable().describe('HTTP status of the last answer; null without one.'),
  attempts: z.int().min(0).describe('How often the line was sent.'),
  at: z.iso
    .datetime()
    .nullable()
    .describe('When the outcome was known; null when not sent, and where no function lived to tell.'),
  fields: z.array(z.string()).optional().describe('Fields that the CRM named in refusing (422); never values.'),
});
export type ResultLine = z.infer<typeof resultLineSchema>;

export function resultLineText(result: ResultLine): string {
  return `${JSON.stringify(result)}\n`;
}

/** Prefix of the last line of a part whose writer left lines in doubt (`chunk-parts.ts`). It is no result. */
export const DOUBT = '{"doubt":';

/** @throws RunError `StorageConflict` for anything but result lines; nothing is quoted */
export function parseResults(text: string): ResultLine[] {
  try {
    return text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(DOUBT))
      .map((line) => resultLineSchema.parse(JSON.parse(line)));
  } catch {
    throw new RunError('StorageConflict', 'An object among the results of a chunk is not made of result lines.');
  }
}
