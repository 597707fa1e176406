import { awsErrorText, RESTORE } from '../../support/aws-error.ts';
import { CommandError } from '../../support/exit.ts';
import { plain } from '../../support/text.ts';
import { callOf } from './calls.ts';
import { broken, type Finding, NotChecked } from './finding.ts';
import type { Verifying } from './verifying.ts';

/** One thing that only the deployed system can show. */
export interface Check {
  id: string;
  /** What is done, for a person. */
  does: string;
  /** It makes something: not without the lock. */
  makes?: true;
  look: (verifying: Verifying) => Promise<Finding>;
}

export interface Checked extends Finding {
  id: string;
  does: string;
}

/** Makes one check. An error becomes its finding, and the others are made. */
export async function checked({ id, does, makes, look }: Check, verifying: Verifying): Promise<Checked> {
  try {
    if (makes && verifying.readOnly) throw new NotChecked(verifying.readOnly);
    return { id, does, ...(await look(verifying)) };
  } catch (error) {
    return { id, does, ...findingOf(error) };
  }
}

const DENIED = /^(AccessDenied|AuthorizationError|Forbidden|NotAuthorized|UnauthorizedOperation)/;
/** AWS names every error that it answers. */
const UNKNOWN = /^(InvalidAction|NotImplemented|Unknown|UnsupportedOperation)/;
const GONE = /NotFound|NonExistent|DoesNotExist|^NoSuch/;

function findingOf(error: unknown): Finding {
  const unchecked = (why: string): Finding => ({ ok: null, found: null, why });
  if (error instanceof NotChecked) return unchecked(error.message);
  if (error instanceof CommandError) return broken(error.message, 'docs/verify.md says what should be there.');
  const missing = missingRight(error);
  if (missing) return unchecked(`these credentials lack the right ${missing}`);
  const { name, message } = error instanceof Error ? error : { name: 'unknown error', message: '' };
  const what = `${callOf(error) ?? 'a call'} was answered by ${name}`;
  if (UNKNOWN.test(name)) return unchecked(`this cloud does not have it: ${what}`);
  if (GONE.test(name)) return broken(`${what}: ${plain(message)}`, `${RESTORE}.`);
  const trouble = awsErrorText(error);
  if (trouble) return unchecked(trouble);
  // Its words may quote data.
  return broken(what, 'Look again; if it stays, tell the developers.');
}

/** The right for want of which AWS refused: in AWS's words where it says so, else by the call. */
export function missingRight(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const status = '$metadata' in error ? (error.$metadata as { httpStatusCode?: number }).httpStatusCode : undefined;
  if (!DENIED.test(error.name) && status !== 403) return undefined;
  return /perform:? ([a-z0-9-]+:\w+)/i.exec(error.message)?.[1] ?? callOf(error) ?? 'for it';
}
