import * as z from 'zod';
import { batchOfInput } from '../../core/batch/batch-keys.ts';
import { batchNameSchema } from '../../core/batch/batch-manifest.ts';
import { RunError } from '../../core/errors.ts';
import { quotedNames } from '../../core/suggestion.ts';

/** What a person or the command may give to the machine. */
const inputSchema = z.strictObject({
  file: z.string().refine((file) => batchOfInput(file) !== undefined),
  /** Changes per second; default, and most: what the configuration says. */
  maxRate: z.number().min(0.1).optional(),
  /** S3 lists at most so many objects at a time. */
  stopAfterFailures: z.int().min(1).max(1000).optional(),
  /** The batch of which these lines are left: they were found valid there, and are not judged again. */
  resumes: batchNameSchema.optional(),
  Comment: z.string().max(1000).optional(),
  /** The console adds it to a start from another execution. */
  AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: z.string().max(1000).optional(),
});

const RULES: Record<string, string> = {
  file: '"file" must be the key of a file of updates in the bucket, updates/BATCH/input.jsonl (BATCH: letters, digits, hyphens)',
  maxRate: '"maxRate" must be a number of changes per second, at least 0.1',
  stopAfterFailures: '"stopAfterFailures" must be a whole number from 1 to 1000',
  resumes: '"resumes" must be the name of a batch (letters, digits, hyphens)',
  Comment: '"Comment" must be a text of at most 1000 characters',
  AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID:
    '"AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID" must be a text of at most 1000 characters',
};

export interface BatchInput {
  batch: string;
  maxRate: number;
  stopAfterFailures: number | null;
  resumes: string | null;
}

/**
 * The input of an execution, checked.
 * @param largestRate changes per second that the configuration allows
 * @throws RunError `InvalidInput` saying what is wrong and (as its advice) an example to paste. Nothing is quoted.
 */
export function parseInput(input: unknown, largestRate: number): BatchInput {
  const parsed = inputSchema.safeParse(input);
  if (!parsed.success) throw new RunError('InvalidInput', `${problemsOf(parsed.error, input).join('; ')}.`);
  const { file, maxRate = largestRate, stopAfterFailures = null, resumes = null } = parsed.data;
  if (maxRate > largestRate) {
    throw new RunError('InvalidInput', `"maxRate" must be at most ${largestRate}, which updates.maxRate allows.`);
  }
  return { batch: batchOfInput(file) ?? '', maxRate, stopAfterFailures, resumes };
}

function problemsOf(error: z.ZodError, input: unknown): string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return ['The input is not an object'];
  return error.issues.map((issue) => {
    if (issue.code !== 'unrecognized_keys') return RULES[String(issue.path[0])] ?? 'The input is not an object';
    return `Unknown: ${quotedNames(issue.keys, Object.keys(RULES))}`;
  });
}
