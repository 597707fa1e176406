import { ConfigurationError } from '../../core/config/configuration.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { awsErrorText, RESTORE } from '../support/aws-error.ts';
import { CommandError, codeOf, ENVIRONMENT, USAGE } from '../support/exit.ts';
import { plain } from '../support/text.ts';
import { callOf } from './calls.ts';
import { broken, CannotTell, type Finding, unknown } from './finding.ts';

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
