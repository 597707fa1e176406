import * as z from 'zod/mini';
import { ENTITIES } from '../config/entities.ts';
import { RunError } from '../errors.ts';
import { ownValue } from '../json.ts';
import { requirementOf } from '../requirements.ts';
import { isSafeName, quotedNames, suggestion } from '../suggestion.ts';

/**
 * Reads the input of an execution. This file does not import the schemas of the inputs, so that the bundle of each
 * function has only the schema of its own input.
 */

const ignored = z.optional(z.string().check(z.maxLength(1000)));

/** Keys that every input of a machine may have and no step reads. The console adds the second to a "new execution". */
export const ignoredKeys = { Comment: ignored, AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: ignored };

const MOST_PROBLEMS = 10;

/** @param hint a sentence after the problems. @throws RunError `InvalidInput` */
export function inputOf<T extends z.core.$ZodShape>(
  schema: z.ZodMiniObject<T>,
  input: unknown,
  hint = ` The entities are ${ENTITIES.join(', ')}.`,
) {
  const parsed = schema.safeParse(input, { error: requirementOf });
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues
    .slice(0, MOST_PROBLEMS)
    .map((issue) => issueText(issue, input, Object.keys(schema.shape)))
    .join('; ');
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`;
  throw new RunError('InvalidInput', `${sentence}.${hint}`);
}

function issueText(issue: z.core.$ZodIssue, input: unknown, keys: string[]): string {
  if (issue.code === 'unrecognized_keys') return `unknown: ${quotedNames(issue.keys, keys)}`;
  if (issue.path.length === 0) return `the input ${issue.message}`;
  if (issue.path[0] === 'entity') return entityText(input);
  const path = issue.path.slice(0, 8).map((key) => shownKey(key, keys));
  const causes = issue.code === 'invalid_union' ? issue.errors.map(([first]) => first?.message) : [issue.message];
  return `"${path.join('.')}" ${causes.join(' or ').replace(/^Invalid input$/, 'is wrong')}`;
}

/** The key as it may be printed: a key inside a filter is text that a person has typed. */
function shownKey(key: PropertyKey, keys: string[]): string {
  return typeof key === 'number' || keys.includes(String(key)) || isSafeName(String(key)) ? String(key) : '…';
}

function entityText(input: unknown): string {
  const entity = ownValue(input, 'entity');
  if (entity === undefined) return 'the input lacks "entity"';
  // The text may be a pasted token.
  if (typeof entity !== 'string' || !isSafeName(entity)) return '"entity" is not the name of an entity';
  return `"${entity}" is not an entity${suggestion(entity, ENTITIES)}`;
}
