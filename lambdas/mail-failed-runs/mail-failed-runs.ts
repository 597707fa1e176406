import * as z from 'zod/mini';
import { batchOfInput } from '../../core/batch/batch-store.ts';
import { CRM_EXPORT, forDeployment } from '../../core/commands.ts';
import type { Entity } from '../../core/config/entities.ts';
import { entitySchema } from '../../core/config/entity-schema.ts';
import { adviceOf, ERRORS, type ErrorName, RunError } from '../../core/errors.ts';
import { latestPointerKey, readPointer } from '../../core/export/pointer.ts';
import { jsonOrUndefined, parseJson } from '../../core/json.ts';
import { shortText } from '../../core/log/log-fields.ts';
import { failedOnPurpose } from '../../core/step/run-input.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

/** Ends of a run that are not in the list of errors, with their advice. The runbook has an entry for each. */
export const OTHER_ENDS = {
  TimedOut: 'The run reached the time limit of its state machine and was stopped. Start it again.',
  AnotherError: 'The run ended in an unexpected error, which the command below shows.',
  FailedOnPurpose: 'Nothing: `verify` started this run with an invalid input, to show that such mails arrive.',
};

export interface MailFailedRunsDeps {
  /** Name of the deployment. */
  deployment: string;
  runbookUrl: string;
  publish(subject: string, message: string): Promise<void>;
  bucket: Pick<Bucket, 'read'>;
}

/** The parts of a failed run that a mail may contain: no text from a person, the CRM or a crash. */
export interface FailedRun {
  /** Name of the execution. */
  name: string;
  error: ErrorName | keyof typeof OTHER_ENDS;
  /** The message of the error without its advice. Absent if the error is not in the list or may quote a crash. */
  sentence: string | undefined;
  endedAt: Date;
  entity: Entity | undefined;
  /** Name of the batch of customer updates. */
  batch: string | undefined;
}

/**
 * Mails one failed run to the topic of the alarms.
 * @param detail `detail` of the event that Step Functions sends when an execution ends
 * @returns the run that the mail names
 * @throws ZodError if `detail` does not describe the end of an execution
 */
export async function mailFailedRuns(detail: unknown, deps: MailFailedRunsDeps): Promise<FailedRun> {
  const run = failedRunOf(z.parse(detailSchema, detail));
  const readers = run.entity && run.batch === undefined ? [await readersText(run.entity, deps.bucket)] : [];
  const { subject, text } = mailOf(run, readers, deps);
  await deps.publish(subject, messageOf(subject, text));
  return run;
}

/** The fields that AWS sends, as recorded; null if they do not apply (test_event_bridge_events_base of LocalStack). */
const detailSchema = z.object({
  name: z.string(),
  status: z.string(),
  stopDate: z.number(),
  input: z.nullish(z.string()),
  error: z.nullish(z.string()),
  cause: z.nullish(z.string()),
});

type Detail = z.infer<typeof detailSchema>;

const inputSchema = z.object({
  entity: z.catch(z.optional(entitySchema), undefined),
  file: z.catch(z.optional(z.string()), undefined),
});

function failedRunOf(detail: Detail): FailedRun {
  const { entity, file } = parseJson(inputSchema, detail.input ?? '') ?? {};
  const error = detail.status === 'TIMED_OUT' ? 'TimedOut' : nameOf(detail);
  const run = { name: singleLine(detail.name), error, entity, batch: batchOfInput(file ?? '') };
  return { ...run, sentence: sentenceOf(run, detail.cause ?? ''), endedAt: new Date(detail.stopDate) };
}

const isOurs = (error: FailedRun['error']): error is ErrorName => Object.hasOwn(ERRORS, error);

function nameOf({ input, error }: Detail): FailedRun['error'] {
  if (failedOnPurpose(jsonOrUndefined(input ?? ''), error)) return 'FailedOnPurpose';
  return error != null && Object.hasOwn(ERRORS, error) ? (error as ErrorName) : 'AnotherError';
}

type Named = Pick<FailedRun, 'name' | 'error' | 'entity' | 'batch'>;

function adviceFor({ name, error, entity, batch }: Named): string {
  return isOurs(error) ? adviceOf(error, { entity, execution: name, batch }) : OTHER_ENDS[error];
}

/**
 * The cause of an error of class `machine` is left out, because it may quote a crash. An address is replaced, because
 * it may be a signed URL.
 */
function sentenceOf(run: Named, cause: string): string | undefined {
  const { error } = run;
  if (!isOurs(error) || ERRORS[error].class === 'machine') return undefined;
  // The advice may lack the name of the batch: a function may fail before it knows the name.
  const sentence = [run, { ...run, batch: undefined }].reduce((text, one) => text.replace(adviceFor(one), ''), cause);
  return singleLine(sentence).replace(/\bhttps?:\/\/\S+/gi, '(an address)') || undefined;
}

function singleLine(text: string): string {
  return shortText(text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()).toWellFormed();
}

/** The newest file that readers have. */
async function readersText(entity: Entity, bucket: Pick<Bucket, 'read'>): Promise<string> {
  try {
    const { run } = await readPointer(bucket, latestPointerKey(entity));
    return run ? `The newest published file: ${entity} of ${run.date}.` : `Readers have no file of ${entity}.`;
  } catch (error) {
    if (error instanceof RunError) return `The published files of ${entity} could not be read.`;
    throw error;
  }
}

/**
 * @returns the subject, ASCII without line breaks and shorter than 100 characters, as SNS requires, and the plain text
 */
function mailOf(
  run: FailedRun,
  readers: string[],
  { deployment, runbookUrl }: MailFailedRunsDeps,
): { subject: string; text: string } {
  const { name, error, sentence, endedAt, entity, batch } = run;
  const whose = batch ?? entity ?? 'A run';
  const at = `${endedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const command = batch === undefined ? `show "${name}"` : `update-status ${batch}`;
  const lines = [
    `${whose} of the deployment ${deployment} ended in ${error}.`,
    '',
    `What to do: ${adviceFor(run)}`,
    '',
    `${batch ?? entity ?? 'No entity'}, ${at}, run ${name}`,
    ...[sentence ?? [], readers].flat().map((line) => `  ${line}`),
    `  ${CRM_EXPORT} ${command.replace(/"([\w.-]+)"/, '$1')} --deployment ${deployment}`,
    '',
    `Runbook: ${runbookUrl}#${error.toLowerCase()}`,
  ];
  return {
    subject: `${deployment}: ${whose} ended in ${error}`.slice(0, 99),
    text: forDeployment(lines.join('\n'), deployment),
  };
}

/**
 * The message for each kind of subscription. Amazon Q Developer in chat applications, which subscribes by https, shows
 * only JSON in this form (https://docs.aws.amazon.com/chatbot/latest/adminguide/custom-notifs.html).
 */
function messageOf(subject: string, text: string): string {
  // A backtick in a sentence would end the block, and the chat would interpret the rest.
  const description = `\`\`\`\n${text.replaceAll('`', "'")}\n\`\`\``;
  const content = { textType: 'client-markdown', title: subject, description };
  return JSON.stringify({ default: text, https: JSON.stringify({ version: '1.0', source: 'custom', content }) });
}
