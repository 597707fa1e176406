import * as z from 'zod/mini';
import { batchOfInput } from '../../core/batch/batch-keys.ts';
import { type Entity, entitySchema } from '../../core/config/entities.ts';
import { adviceOf, ERRORS, type ErrorName } from '../../core/errors.ts';
import { jsonOrUndefined, parseJson } from '../../core/json.ts';
import { shortText } from '../../core/log/log-fields.ts';
import { failedOnPurpose } from '../../core/step/verify-run.ts';

/** A run that failed, without anything that a person, the CRM or a crash may have put into it. */
export interface FailedRun {
  /** Name of the execution. */
  name: string;
  /** One of ours, or the status where AWS ended it, or else only `AnotherError`. `FailedOnPurpose`: `verify` made it fail. */
  error: ErrorName | 'TimedOut' | 'AnotherError' | 'FailedOnPurpose';
  /** What happened to this run, where it is a sentence of ours; without the advice. */
  sentence: string | undefined;
  endedAt: Date;
  entity: Entity | undefined;
  /** Of customer updates. */
  batch: string | undefined;
}

type Named = Pick<FailedRun, 'name' | 'error' | 'entity' | 'batch'>;

/** `detail` of an event; AWS recorded by LocalStack's authors has all of these, null where they do not apply. */
const detailSchema = z.object({
  name: z.string(),
  status: z.string(),
  stopDate: z.number(),
  input: z.nullish(z.string()),
  error: z.nullish(z.string()),
  cause: z.nullish(z.string()),
});

const inputSchema = z.object({
  entity: z.catch(z.optional(entitySchema), undefined),
  file: z.catch(z.optional(z.string()), undefined),
});

/** @returns `undefined` for a message that is no end of an execution */
export function failedRunOf(message: string | undefined): FailedRun | undefined {
  const detail = parseJson(detailSchema, message);
  if (!detail) return undefined;
  const { entity, file } = parseJson(inputSchema, detail.input ?? '') ?? {};
  const error = detail.status === 'TIMED_OUT' ? 'TimedOut' : nameOf(detail);
  const run = { name: plain(detail.name), error, entity, batch: batchOfInput(file ?? '') };
  return { ...run, sentence: sentenceOf(run, detail.cause ?? ''), endedAt: new Date(detail.stopDate) };
}

export const isOurs = (error: FailedRun['error']): error is ErrorName => Object.hasOwn(ERRORS, error);

function nameOf({ name, input, error }: z.infer<typeof detailSchema>): FailedRun['error'] {
  if (failedOnPurpose(name, jsonOrUndefined(input ?? ''), error)) return 'FailedOnPurpose';
  return error != null && Object.hasOwn(ERRORS, error) ? (error as ErrorName) : 'AnotherError';
}

/** The advice of our error, with the names of the run. */
export function adviceFor({ name, error, entity, batch }: Named): string | undefined {
  return isOurs(error) ? adviceOf(error, { entity, execution: name, batch }) : undefined;
}

/** The cause of what the machine itself ends with may quote a crash. Addresses are of no use in a mail, and may be secret. */
function sentenceOf(run: Named, cause: string): string | undefined {
  const { error } = run;
  if (!isOurs(error) || ERRORS[error].class === 'machine') return undefined;
  // A function may end a batch before it knows its name.
  const told = [run, { ...run, batch: undefined }].reduce((text, one) => text.replace(adviceFor(one) ?? '', ''), cause);
  const sentence = plain(told).replace(/\bhttps?:\/\/\S+/gi, '(an address)');
  return sentence === '' ? undefined : sentence;
}

function plain(text: string): string {
  return shortText(text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()).toWellFormed();
}
