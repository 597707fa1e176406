import { ConfigurationError } from '../../core/config/configuration.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { CommandError, codeOf, ENVIRONMENT, USAGE } from '../support/exit.ts';
import { plain } from '../support/text.ts';

/** What one look found. `failed` means that a nightly run would not work; `exitCode` says by whose fault. */
export interface Check {
  id: string;
  status: 'ok' | 'warning' | 'failed';
  text: string;
  /** What to do, where there is something to do. */
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

/** An error as a failed check. Of an error that nobody expected only the name is shown, for its message may quote data. */
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

/** Collects checks; whatever a look throws becomes its check, and the next look is taken. */
export class Findings {
  readonly checks: Check[] = [];

  add(...checks: Check[]): void {
    this.checks.push(...checks);
  }

  /** @returns what was found, `undefined` where the look failed */
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

/** 0 only where nothing failed. Checks stand in the order of their causes, so the first that failed gives the class. */
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

/** Where the service was not asked with the grant, nobody knows whether it still takes it. */
function good(checks: Check[]): string {
  const tried = checks.some(({ id, status }) => id === 'service' && status === 'ok');
  const unknownColumns = checks.some(({ id }) => id === 'columns');
  if (tried && !unknownColumns) return 'A nightly run would work.';
  if (tried) return 'Nothing was found that stops a nightly run, but not all of the deployed columns were looked at.';
  const refreshed = checks.some(({ id }) => id === 'refresh');
  const what = 'Nothing was found that stops a nightly run, but the grant was not tried';
  return refreshed ? `${what} at the service.` : `${what}: add --refresh.`;
}

/** One line per check, and what it all means. */
export function linesOf(checks: Check[]): string[] {
  const lines = checks.map(({ id, status, text, advice }) =>
    [`${SIGNS[status]} ${id}:`, text, advice && `-> ${advice}`].filter(Boolean).join(' '),
  );
  const count = checks.filter(({ status }) => status === 'failed').length;
  return [...lines, count === 0 ? good(checks) : `A nightly run would fail: see ✗ (${count}).`];
}
