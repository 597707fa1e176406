import type * as z from 'zod/mini';

/** What a value must be, by its type or format in a schema. */
const FORMS: Record<string, string> = {
  object: 'an object in braces',
  record: 'an object in braces',
  array: 'a list in square brackets',
  string: 'a text in double quotes',
  number: 'a number without quotes',
  int: 'a whole number without quotes',
  boolean: 'true or false, without quotes',
  date: 'a date that exists, such as "2026-11-20"',
  datetime: 'a time with its zone, such as "2026-11-20T01:00:00Z"',
  email: 'an e-mail address',
};

/** What a person must write instead, if the schema has no sentence of its own. The sentence quotes no value. */
export function requirementOf(issue: z.core.$ZodRawIssue): string | undefined {
  const isNumber = typeof issue.input === 'number';
  if (issue.code === 'invalid_type' || issue.code === 'invalid_format') {
    const form = FORMS[issue.code === 'invalid_type' ? issue.expected : issue.format] ?? 'in another form';
    return issue.input === undefined ? `is missing: write ${form}` : `must be ${form}`;
  }
  if (issue.code === 'invalid_value') return `must be ${issue.values.map((each) => JSON.stringify(each)).join(' or ')}`;
  if (issue.code === 'too_small') return isNumber ? `must be at least ${issue.minimum}` : 'must not be empty';
  if (issue.code !== 'too_big') return undefined;
  if (isNumber) return `must be at most ${issue.maximum}`;
  return `must have at most ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'entries'}`;
}
