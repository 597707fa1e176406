import { ConfigurationError } from '../../core/config/configuration.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { awsErrorText } from '../support/aws-error.ts';
import { CommandError, codeOf, ENVIRONMENT, USAGE } from '../support/exit.ts';
import { plain } from '../support/text.ts';

/** `failed` means that a nightly run would not work; `exitCode` is the class of the cause. */
export interface Check {
  id: string;
  status: 'ok' | 'warning' | 'failed';
  text: string;
  advice: string | null;
  exitCode: number;
}

export function ok(id: string, text: string): Check {
  return { id, status: 'ok', text, advice: null, exitCode: 0 };
}

export function warning(id: string, text: string, advice: string): Check {
  return { id, status: 'warning', text, advice, exitCode: 0 };
}

export function failed(id: string, text: string, advice: string, exitCode: number): Check {
  return { id, status: 'failed', text, advice, exitCode };
}

/** An error as a failed check. An unexpected error may quote data: only its name is shown. */
export function failedBy(id: string, error: unknown): Check {
  if (error instanceof RunError) {
    return failed(id, `${error.name}: ${error.message}`, ERRORS[error.name].advice, codeOf(error));
  }
  if (error instanceof ConfigurationError) {
    const mistakes = error.message.replaceAll('\n', '; ');
    return failed(id, mistakes, 'Correct the configuration; config/schema.json describes every field.', USAGE);
  }
  if (error instanceof CommandError) {
    const advice = 'Check --deployment, --profile, --region and --endpoint-url, or deploy the stack.';
    return failed(id, error.message, advice, error.exitCode);
  }
  const name = error instanceof Error ? error.name : 'an unknown error';
  return failed(id, `This could not be looked at (${plain(name)}).`, 'Tell the developers.', ENVIRONMENT);
}

/** A check that never fails: a refusal by AWS is a warning with this text. */
export async function orWarning(id: string, text: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    const trouble = awsErrorText(error);
    if (!trouble) throw error;
    return warning(id, text, trouble);
  }
}

/** Collects checks. An error becomes a failed check, and the next one is made. */
export class Findings {
  readonly checks: Check[] = [];

  add(...checks: Check[]): void {
    this.checks.push(...checks);
  }

  /** @returns the result of `work`, `undefined` if it failed */
  async look<T>(id: string, work: () => T | Promise<T>, judge: (found: T) => Check | Check[]): Promise<T | undefined> {
    try {
      const found = await work();
      this.add(...[judge(found)].flat());
      return found;
    } catch (error) {
      this.add(failedBy(id, error));
      return undefined;
    }
  }
}

/** Checks are ordered by cause, so the first that failed gives the class. */
export function exitCodeOf(checks: Check[]): number {
  return checks.find(({ status }) => status === 'failed')?.exitCode ?? 0;
}

/** The one document of `--json`. */
export function documentOf(checks: Check[]) {
  return {
    ok: exitCodeOf(checks) === 0,
    checks: checks.map(({ id, status, text, advice }) => ({ id, status, text, advice })),
  };
}

const SIGNS = { ok: '✓', warning: '!', failed: '✗' };

/** Only a call to the CRM with the grant proves that the grant works. */
function good(checks: Check[]): string {
  const tried = checks.some(({ id, status }) => id === 'service' && status === 'ok');
  const unknownColumns = checks.some(({ id }) => id === 'columns');
  if (tried && !unknownColumns) return 'A nightly run would work.';
  if (tried) return 'Nothing was found that stops a nightly run, but not all of the deployed columns were looked at.';
  const refreshed = checks.some(({ id }) => id === 'refresh');
  const what = 'Nothing was found that stops a nightly run, but the grant was not tried';
  return refreshed ? `${what} at the CRM.` : `${what}: add --refresh.`;
}

export function lineOf({ id, status, text, advice }: Check): string {
  return [`${SIGNS[status]} ${id}:`, text, advice && `-> ${advice}`].filter(Boolean).join(' ');
}

/** One line per check, and the conclusion. */
export function linesOf(checks: Check[]): string[] {
  const lines = checks.map(lineOf);
  const count = checks.filter(({ status }) => status === 'failed').length;
  return [...lines, count === 0 ? good(checks) : `A nightly run would fail: see ✗ (${count}).`];
}
