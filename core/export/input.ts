import { en } from 'zod/locales';
import * as z from 'zod/mini';
import { ENTITIES, entitySchema } from '../config/entities.ts';
import { requestKeys } from '../config/request-keys.ts';
import { RunError } from '../errors.ts';
import { isPlainName, quotedName, suggestion } from '../suggestion.ts';

/** What a rule or a person may give to the machine. Everything but the entity has its default in the configuration. */
const inputSchema = z.strictObject({
  entity: entitySchema,
  /** The event time of the rule that started the run. */
  scheduledFor: z.optional(z.iso.datetime({ offset: true })),
  /** The logical date; default: that of `scheduledFor`, or of the start, in the deployment's time zone. */
  date: z.optional(z.iso.date()),
  columns: z.optional(requestKeys.columns),
  sorts: z.optional(requestKeys.sorts),
  filters: z.optional(requestKeys.filters),
  filtersOperator: z.optional(requestKeys.filtersOperator),
  sendEmail: z.optional(requestKeys.sendEmail),
  Comment: z.optional(z.string().check(z.maxLength(1000))),
});
export type ExportInput = z.infer<typeof inputSchema>;

/** Problems that are named: fifty sorts and fifty filters may each have one, and the cause of a failure is to be read. */
const MENTIONED = 10;

/** zod/mini comes without any words. */
const { localeError } = en();

const HELP = `Known entities: ${ENTITIES.join(', ')}.`;

/**
 * The input of an execution, checked.
 * @throws RunError `InvalidInput` saying what is wrong, the entities, and (as its advice) an example to paste.
 */
export function parseInput(input: unknown): ExportInput {
  const parsed = inputSchema.safeParse(input, { error: localeError });
  if (parsed.success) return parsed.data;
  const problem =
    objectProblem(input) ??
    parsed.error.issues
      .slice(0, MENTIONED)
      .map((issue) => issueText(issue, input))
      .join('; ');
  throw new RunError('InvalidInput', `${problem.charAt(0).toUpperCase()}${problem.slice(1)}. ${HELP}`);
}

function objectProblem(input: unknown): string | undefined {
  if (Array.isArray(input)) return 'the input is an array, not an object';
  if (typeof input !== 'object' || input === null)
    return `the input is ${input === null ? 'null' : `a ${typeof input}`}, not an object`;
  return undefined;
}

function issueText(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === 'unrecognized_keys') return `unknown: ${issue.keys.slice(0, 10).map(keyText).join(', ')}`;
  if (issue.path[0] === 'entity') return entityText(input);
  return `"${issue.path.join('.')}" is wrong (${issue.message})`;
}

function entityText(input: unknown): string {
  const entity = typeof input === 'object' && input !== null && 'entity' in input ? input.entity : undefined;
  if (entity === undefined) return 'the input lacks "entity"';
  // What else was typed there may be anything, a pasted token included: it is not repeated.
  if (typeof entity !== 'string' || !isPlainName(entity)) return '"entity" is not one of the known';
  return `"${entity}" is not a known entity${suggestion(entity, ENTITIES)}`;
}

function keyText(key: string): string {
  const known = Object.keys(inputSchema.shape);
  return quotedName(key, known);
}
