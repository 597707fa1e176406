import * as z from 'zod/mini';
import { ConfigurationError } from '../../core/config/configuration.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { awsErrorText, deniedRight, isDenied, isGone, RESTORE, sentence } from '../support/aws-error.ts';
import { adviceLines, capitalized, withPlace } from '../support/command-text.ts';
import { CommandError, codeOf, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';
import type { TargetOptions } from '../support/target.ts';
import { asciiText, painterOf, printableLine, SIGNS, type Tone } from '../support/text.ts';

/** A question about a deployment, and the rights to answer it. */
export interface Question {
  id: string;
  question: string;
  /** The AWS rights that the answer needs, such as `s3:GetBucketVersioning on the bucket`. */
  rights: string[];
  /** The option of the command that enables the question. */
  option?: string;
  /** Whether the command may succeed without an answer. By default it fails with the exit code of the cause. */
  mayBeUnknown?: boolean;
}

export type Checked = z.infer<typeof checkedSchema> & Pick<Finding, 'exitCode'>;

/**
 * Answers one question. An error becomes its finding, so that the other questions are still answered.
 * @param place deployment options to add to the commands in the advice
 */
export async function checked(
  { id, question, rights: needed, mayBeUnknown }: Question,
  answer: () => Finding | Finding[] | Promise<Finding | Finding[]>,
  place: TargetOptions,
): Promise<Checked[]> {
  const rights = needed.map((right) => right.split(' on ')[0] ?? right);
  const findings = [await (async () => answer())().catch(findingOf)].flat();
  return findings.map(({ of, found, advice, verdict, exitCode }) => ({
    verdict,
    exitCode: mayBeUnknown && verdict === 'unknown' ? 0 : exitCode,
    id: of === undefined ? id : `${id}.${of}`,
    question,
    found: withPlace(found, place),
    advice: advice === null ? null : withPlace(advice, place),
    rights,
  }));
}

/** A value that several checks need. If the value cannot be read, each of these checks reports the error. */
export function fact<T>(reading: Promise<T>): Promise<T> {
  // A check may await the value late. Until then, its error must not end the process.
  reading.catch(() => undefined);
  return reading;
}

/** The value of a fact; `undefined` if it could not be read, which another check reports. */
export function ifRead<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch(() => undefined);
}

export type Verdict = Checked['verdict'];

export interface Finding extends Pick<z.infer<typeof checkedSchema>, 'verdict' | 'found' | 'advice'> {
  /** What the finding is about, such as an entity, if its check has several findings. */
  of?: string;
  /** The exit code for the cause of the problem; 0 if the finding makes no command fail. */
  exitCode: number;
}

/** Thrown by a check that cannot find its answer. The message is the reason. */
export class CannotCheck extends Error {}

export function holds(found: string): Finding {
  return { verdict: 'holds', found, advice: null, exitCode: 0 };
}

export function warning(found: string, advice: string): Finding {
  return { verdict: 'warning', found, advice, exitCode: 0 };
}

export function broken(found: string, advice: string | null, exitCode = RUN_FAILED): Finding {
  return { verdict: 'broken', found, advice, exitCode };
}

/** The check could not find the answer, which is not a fault of the deployment. */
export function unknown(why: string, advice: string | null = null, exitCode = 0): Finding {
  return { verdict: 'unknown', found: why, advice, exitCode };
}

export function holdsUnless(wrong: string[], found: string, advice = `${RESTORE}.`): Finding {
  return wrong.length === 0 ? holds(found) : broken(wrong.join('; '), advice);
}

/** A finding about one of several things, such as an entity. */
export function about(of: string, finding: Finding): Finding {
  return { ...finding, of };
}

/** Names of errors for calls that a cloud does not support. */
const NOT_HERE = /^(InvalidAction|NotImplemented|Unknown|UnsupportedOperation)/;

/** The finding for an error. If AWS refuses or cannot answer, the state of the deployment is unknown. */
export function findingOf(error: unknown): Finding {
  if (error instanceof CannotCheck) return unknown(error.message);
  // A RunError advises about the rights of functions. Here a person lacks the right, so the error of AWS is used.
  const denied = error instanceof RunError ? error.cause : error;
  if (isDenied(denied)) {
    const right = deniedRight(denied);
    const found = right ? `lack the right ${right}` : 'lack a right, and AWS does not say which';
    return unknown(`these credentials ${found}`, awsErrorText(denied) ?? null, ENVIRONMENT);
  }
  return ownFinding(error) ?? foreignFinding(error);
}

/** The finding for errors of this software, whose messages say what is wrong. */
function ownFinding(error: unknown): Finding | undefined {
  if (error instanceof ConfigurationError) {
    const advice = 'Correct the configuration; config/schema.json describes every field.';
    return broken(error.message.replaceAll('\n', '; '), advice, USAGE);
  }
  if (error instanceof RunError) {
    const trouble = awsErrorText(error);
    const advice = trouble ?? ERRORS[error.name].advice;
    const isUnanswered = trouble !== undefined || error.name === 'TokenStoreUnavailable';
    return (isUnanswered ? unknown : broken)(`${error.name}: ${error.message}`, advice, codeOf(error));
  }
  if (error instanceof CommandError) {
    if (awsErrorText(error.cause)) return unknown(error.message, null, error.exitCode);
    return broken(error.message, null, error.exitCode);
  }
  return undefined;
}

function foreignFinding(error: unknown): Finding {
  const trouble = awsErrorText(error);
  const { name, message } = error instanceof Error ? error : { name: 'an unknown error', message: '' };
  if (NOT_HERE.test(name)) return unknown(`this cloud does not support the call (${name})`, null, ENVIRONMENT);
  if (isGone(error)) return broken(`${name}: ${asciiText(message)}`, `${RESTORE}.`, ENVIRONMENT);
  if (trouble) return unknown(trouble, null, ENVIRONMENT);
  // The message of the error may quote data.
  const what = `this could not be checked (${asciiText(name)})`;
  return broken(what, 'Run the command again. If the problem remains, report it to the developers.', ENVIRONMENT);
}

const checkedSchema = z.strictObject({
  id: z.string().check(z.describe('Id of the check; `columns.leads` is the finding about leads.')),
  question: z.string(),
  verdict: z
    .enum(['holds', 'warning', 'broken', 'unknown'])
    .check(
      z.describe(
        'broken: the check failed. warning: no run fails because of it. unknown: the command found no answer.',
      ),
    ),
  found: z.string().check(z.describe('The finding; if the verdict is unknown, why the check found no answer.')),
  advice: z.nullable(z.string()).check(z.describe('What to do.')),
  rights: z.array(z.string()).check(z.describe('The actions of AWS that the check needs.')),
});

export const checksSchema = z.strictObject({
  ok: z.boolean().check(z.describe('Whether the command ends with exit code 0.')),
  checks: z.array(checkedSchema),
});

export function documentOf(checks: Checked[], ok: boolean): z.infer<typeof checksSchema> {
  return { ok, checks: checks.map(({ exitCode: _, ...one }) => one) };
}

export function countOf(checks: Checked[], verdict: Verdict): number {
  return checks.filter((one) => one.verdict === verdict).length;
}

const TONES: Record<Verdict, Tone> = { holds: 'good', warning: 'warned', broken: 'bad', unknown: 'unknown' };

/** One answered question as text: a line, and the advice below it, with each command on a line of its own. */
export function textOf({ id, question, verdict, found, advice }: Checked, stream: { isTTY?: boolean }): string {
  const tone = TONES[verdict];
  const line = `${painterOf(stream)(tone)(`${SIGNS[tone]} ${id}`)}: ${question} ${sentence(capitalized(printableLine(found)))}`;
  const lines = advice ? adviceLines(printableLine(advice)) : [];
  return [line, ...lines.map((part, index) => `${index === 0 ? '    -> ' : '       '}${part}`)].join('\n');
}
