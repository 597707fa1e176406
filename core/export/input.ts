import { en } from 'zod/locales';
import * as z from 'zod/mini';
import { ENTITIES } from '../config/entities.ts';
import { entitySchema } from '../config/entity-schema.ts';
import { requestKeys } from '../config/request-keys.ts';
import { RunError } from '../errors.ts';
import { ownValue } from '../json.ts';
import { isSafeName, quotedNames, suggestion } from '../suggestion.ts';

const ignored = z.optional(z.string().check(z.maxLength(1000)));

/** Keys that every input of a machine may have and no step reads. The console adds the second to a "new execution". */
export const ignoredKeys = { Comment: ignored, AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: ignored };

/** The input from a rule or a person. All keys except `entity` have defaults in the configuration. */
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
  /** Publishes a run whose plan differs from the configured one, for its date only. */
  publish: z.optional(z.boolean()),
  /** A failed run. Its export is used if request and date are the same and the CRM still has it. */
  adopt: z.optional(z.string().check(z.minLength(1), z.maxLength(80))),
  /** Continues the run despite changed columns at which the configuration stops. */
  acceptSchema: z.optional(z.boolean()),
  ...ignoredKeys,
});
export type ExportInput = z.infer<typeof inputSchema>;

/** Whether an input has only the keys of a rule: an entity and the event time in UTC. Such a run claims the start. */
export function isOfRule(input: object): boolean {
  const isTime = 'scheduledFor' in input && /Z$/.test(String(input.scheduledFor));
  return isTime && 'entity' in input && Object.keys(input).length === 2;
}

const MOST_PROBLEMS = 10;

/** zod/mini contains no messages, so they are loaded here. */
const { localeError } = en();

/** @throws RunError `InvalidInput` */
export function parseInput(input: unknown): ExportInput {
  return inputOf(inputSchema, input);
}

/** @param hint a sentence after the problems. @throws RunError `InvalidInput` */
export function inputOf<T extends z.core.$ZodShape>(
  schema: z.ZodMiniObject<T>,
  input: unknown,
  hint = ` Known entities: ${ENTITIES.join(', ')}.`,
) {
  const parsed = schema.safeParse(input, { error: localeError });
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues
    .slice(0, MOST_PROBLEMS)
    .map((issue) => issueText(issue, input, Object.keys(schema.shape)))
    .join('; ');
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`;
  throw new RunError('InvalidInput', `${sentence}.${hint}`);
}

function issueText(issue: z.core.$ZodIssue, input: unknown, known: string[]): string {
  if (issue.code === 'unrecognized_keys') {
    return `unknown: ${quotedNames(issue.keys, known)}`;
  }
  if (issue.path.length === 0) return `the input is wrong (${issue.message})`;
  if (issue.path[0] === 'entity') return entityText(input);
  const path = issue.path.slice(0, 8).map((key) => shownKey(key, known));
  return `"${path.join('.')}" is wrong (${issue.message})`;
}

/** The key as it may be printed: a key inside a filter is text that a person has typed. */
function shownKey(key: PropertyKey, known: string[]): string {
  return typeof key === 'number' || known.includes(String(key)) || isSafeName(String(key)) ? String(key) : '…';
}

function entityText(input: unknown): string {
  const entity = ownValue(input, 'entity');
  if (entity === undefined) return 'the input lacks "entity"';
  // The text may be a pasted token.
  if (typeof entity !== 'string' || !isSafeName(entity)) return '"entity" is not the name of an entity';
  return `"${entity}" is not a known entity${suggestion(entity, ENTITIES)}`;
}
