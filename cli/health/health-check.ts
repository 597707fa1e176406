import * as z from 'zod/mini';
import { ConfigurationError } from '../../core/config/configuration.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { awsErrorText, RESTORE } from '../support/aws-error.ts';
import { adviceLines, begun, completed } from '../support/completed.ts';
import { CommandError, codeOf, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';
import type { Clients, TargetOptions } from '../support/target.ts';
import { colorsFor, plain, plainLine } from '../support/text.ts';

/** A question about a deployment, and how it is answered. */
export interface Check<Context> {
  id: string;
  question: string;
  /** What AWS has to allow, such as `s3:GetBucketVersioning on the bucket`. */
  rights: string[];
  /** The option of the command without which the check is not made. */
  option?: string;
  /** Something is made in the account, which one command at a time may do. */
  makes?: true;
  look: (context: Context) => Finding | Finding[] | Promise<Finding | Finding[]>;
}

/** An answered question. */
export interface Checked extends Omit<Finding, 'of'> {
  /** The id of the check, with what the finding is about: `columns.leads`. */
  id: string;
  question: string;
  rights: string[];
}

/** The check for a command that works although it does not hold. */
export function remark<Context>(check: Check<Context>): Check<Context> {
  return { ...check, look: async (context) => (await findingsOf(check, context)).map((one) => asRemark(one)) };
}

/** The check for a command that fails by what is wrong, but not where nobody may look. */
export function ifSeen<Context>(check: Check<Context>): Check<Context> {
  const soften = (one: Finding) => (one.verdict === 'unknown' ? asRemark(one) : one);
  return { ...check, look: async (context) => (await findingsOf(check, context)).map(soften) };
}

/** The check for a command that has what it needs in another form. */
export function given<Inner, Outer>(
  check: Check<Inner>,
  contextOf: (outer: Outer) => Inner | Promise<Inner>,
): Check<Outer> {
  return { ...check, look: async (outer) => check.look(await contextOf(outer)) };
}

/**
 * Makes one check. An error becomes its finding, so that the next one is made.
 * @param place filled into the commands that advice names
 */
export async function checked<Context>(
  check: Check<Context>,
  context: Context,
  place: TargetOptions,
): Promise<Checked[]> {
  const { id, question, rights } = check;
  return (await findingsOf(check, context)).map(({ of, found, advice, ...finding }) => ({
    ...finding,
    id: of === undefined ? id : `${id}.${of}`,
    question,
    found: completed(found, place),
    advice: advice === null ? null : completed(advice, place),
    rights: rights.map((right) => right.split(' on ')[0] ?? right),
  }));
}

async function findingsOf<Context>({ look }: Check<Context>, context: Context): Promise<Finding[]> {
  try {
    return [await look(context)].flat();
  } catch (error) {
    return [findingOf(error)];
  }
}

/** It holds; nothing fails by it, but somebody should know; it does not hold; it cannot be told here. */
const VERDICTS = ['holds', 'warning', 'broken', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What a check came to. */
export interface Finding {
  verdict: Verdict;
  /** What was found; where the verdict is unknown, why it cannot be told. */
  found: string;
  /** What to do. */
  advice: string | null;
  /** What it is about, where a check looks at several things: an entity. */
  of?: string;
  /** The class of the cause, for a command whose exit code tells it; 0 where nothing fails by the finding. */
  exitCode: number;
}

/** Thrown by a check that cannot be told here, with the reason. */
export class CannotTell extends Error {}

export function holds(found: string): Finding {
  return { verdict: 'holds', found, advice: null, exitCode: 0 };
}

export function warning(found: string, advice: string): Finding {
  return { verdict: 'warning', found, advice, exitCode: 0 };
}

export function broken(found: string, advice: string, exitCode = RUN_FAILED): Finding {
  return { verdict: 'broken', found, advice, exitCode };
}

/** Nothing was found out, which is no reproach to the deployment. */
export function unknown(why: string, advice: string | null = null, exitCode = 0): Finding {
  return { verdict: 'unknown', found: why, advice, exitCode };
}

/** Holds where nothing is wrong. */
export function holdsUnless(wrong: string[], found: string, advice = `${RESTORE}.`): Finding {
  return wrong.length === 0 ? holds(found) : broken(wrong.join('; '), advice);
}

/** A finding about one of several things. */
export function about(of: string, finding: Finding): Finding {
  return { ...finding, of };
}

/** A finding by which nothing fails. @param because why nothing does, which is added to what does not hold */
export function asRemark(finding: Finding, because = ''): Finding {
  if (finding.verdict === 'holds') return finding;
  const verdict = finding.verdict === 'broken' ? 'warning' : finding.verdict;
  return { ...finding, verdict, found: `${finding.found}${because}`, exitCode: 0 };
}

const DENIED = /^(AccessDenied|AuthorizationError|Forbidden|NotAuthorized|UnauthorizedOperation)/;
/** AWS names every error that it answers. */
const NOT_HERE = /^(InvalidAction|NotImplemented|Unknown|UnsupportedOperation)/;
const GONE = /NotFound|NonExistent|DoesNotExist|^NoSuch/;

/** What an error says about the question that was asked: what AWS refuses or cannot answer says nothing about the deployment. */
export function findingOf(error: unknown): Finding {
  if (error instanceof CannotTell) return unknown(error.message);
  return ownFinding(error) ?? foreignFinding(error);
}

/** Errors of this software, which say what is wrong. */
function ownFinding(error: unknown): Finding | undefined {
  if (error instanceof ConfigurationError) {
    const advice = 'Correct the configuration; config/schema.json describes every field.';
    return broken(error.message.replaceAll('\n', '; '), advice, USAGE);
  }
  if (error instanceof RunError) {
    const trouble = awsErrorText(error);
    const advice = [trouble, ERRORS[error.name].advice].filter(Boolean).join(' ');
    return (trouble ? unknown : broken)(`${error.name}: ${error.message}`, advice, codeOf(error));
  }
  if (error instanceof CommandError) {
    if (awsErrorText(error.cause)) return unknown(error.message, null, error.exitCode);
    return broken(error.message, 'docs/verify.md says what should be there.', error.exitCode);
  }
  return undefined;
}

function foreignFinding(error: unknown): Finding {
  const trouble = awsErrorText(error);
  const missing = missingRight(error);
  if (missing) return unknown(`these credentials lack the right ${missing}`, trouble ?? null, ENVIRONMENT);
  const { name, message } = error instanceof Error ? error : { name: 'an unknown error', message: '' };
  const call = callOf(error);
  const what = call ? `${call} was answered by ${name}` : `this could not be looked at (${plain(name)})`;
  if (NOT_HERE.test(name)) return unknown(`this cloud does not have it: ${what}`, null, ENVIRONMENT);
  if (GONE.test(name)) return broken(`${what}: ${plain(message)}`, `${RESTORE}.`, ENVIRONMENT);
  if (trouble) return unknown(trouble, null, ENVIRONMENT);
  // The words of the error may quote data.
  return broken(what, 'Look again; if it stays, tell the developers.', ENVIRONMENT);
}

/** The right for want of which AWS refused: in AWS's words where it says so, else by the call. */
export function missingRight(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const status = '$metadata' in error ? (error.$metadata as { httpStatusCode?: number }).httpStatusCode : undefined;
  if (!DENIED.test(error.name) && status !== 403) return undefined;
  return /perform:? ([a-z0-9-]+:\w+)/i.exec(error.message)?.[1] ?? callOf(error) ?? 'for it';
}

const calls = new WeakMap<Error, string>();

/** Calls whose right has another name. */
const RIGHTS: Record<string, string> = {
  's3:HeadObject': 's3:GetObject',
  's3:DeleteObject': 's3:DeleteObjectVersion',
  's3:ListObjectVersions': 's3:ListBucketVersions',
};
const SERVICES: Partial<Record<keyof Clients, string>> = {
  sfn: 'states',
  dynamo: 'dynamodb',
  secrets: 'secretsmanager',
};

/** Makes the error of every later call say which right it needs: AWS does not always name it. */
export function nameCalls(clients: Clients, names: (keyof Clients)[]): void {
  for (const name of names) {
    const note = (error: unknown, command = '') => {
      const call = `${SERVICES[name] ?? name}:${command.replace(/Command$/, '')}`;
      if (error instanceof Error) calls.set(error, RIGHTS[call] ?? call);
      return error;
    };
    // All clients have it, each with types of its own.
    const { middlewareStack } = clients[name] as Clients['sfn'];
    middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          next(args).catch((error: unknown) => Promise.reject(note(error, commandName))),
      { step: 'initialize', name: 'nameCalls', override: true },
    );
  }
}

/** The right that the failed call needs, such as `events:PutRule`. */
function callOf(error: unknown): string | undefined {
  return error instanceof Error ? calls.get(error) : undefined;
}

const checkedSchema = z.strictObject({
  id: z.string().check(z.describe('Of the check; columns.leads: of what it found about leads.')),
  question: z.string(),
  verdict: z
    .enum(VERDICTS)
    .check(z.describe('broken: it does not hold. warning: nothing fails by it. unknown: it cannot be told here.')),
  found: z.string().check(z.describe('What was found; where the verdict is unknown, why it cannot be told.')),
  advice: z.nullable(z.string()).check(z.describe('What to do.')),
  rights: z.array(z.string()).check(z.describe('The actions of AWS that the check needs.')),
});

/** What `--json` prints of checks. */
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

const SIGNS = { holds: '✓', warning: '!', broken: '✗', unknown: '?' };

/** One answered question for a person: a line, and the advice below it, each command on a line of its own. */
export function textOf({ id, question, verdict, found, advice }: Checked, stream: { isTTY?: boolean }): string {
  const { green, yellow, red } = colorsFor(stream);
  const paint = { holds: green, warning: yellow, broken: red, unknown: yellow }[verdict];
  const line = `${paint(`${SIGNS[verdict]} ${id}`)}: ${question} ${sentence(plainLine(found))}`;
  const lines = advice ? adviceLines(plainLine(advice)) : [];
  return [line, ...lines.map((part, index) => `${index === 0 ? '    -> ' : '       '}${part}`)].join('\n');
}

function sentence(found: string): string {
  const text = begun(found);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
