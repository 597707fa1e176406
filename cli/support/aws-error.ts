import { tmpdir } from 'node:os';
import { ConfigurationError } from '../../core/config/configuration.ts';
import { RunError } from '../../core/errors.ts';
import { CommandError, codeOf, ENVIRONMENT, USAGE } from './exit.ts';
import { printJson } from './print.ts';
import { asciiText } from './text.ts';

const CREDENTIALS =
  /^(AuthFailure|IncompleteSignature|Invalid(AccessKeyId|ClientTokenId|SignatureException)|MissingAuthenticationToken|SignatureDoesNotMatch|UnrecognizedClientException)$/;
const DENIED = /^(AccessDenied|AuthorizationError|Forbidden|NotAuthorized|UnauthorizedOperation)/;
const SILENT = /ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|TimeoutError/;
const LOOPBACK = /\b127(\.\d{1,3}){3}(:\d+)?|::1(:\d+)?|\blocalhost\b/;

/** Advice for a missing or changed part of the deployment. */
export const RESTORE =
  'Restore what was changed or deleted by hand (an ordinary deployment does not): npx cdk deploy --revert-drift';

/** Advice for changed policies, which CloudFormation does not compare with the template (`docs/adr/0008`). */
export const REWRITE = 'Write all policies again (--revert-drift does not): npx cdk deploy -c rewrite=policies';

/**
 * One sentence with advice for an error of AWS, the local cloud or the network.
 * @returns `undefined` for any other error
 */
export function awsErrorText(error: unknown): string | undefined {
  if (error instanceof RunError) {
    // A RunError advises about the rights of functions. Here a person lacks the right, so the error of AWS is used.
    const isOfAws = /^(Storage|TokenStore)/.test(error.name) || isDenied(error.cause);
    return isOfAws ? awsErrorText(error.cause) : undefined;
  }
  // The SDK adds this text to the error about an answer that it cannot parse. The error quotes the answer.
  if (error instanceof Error && error.message.includes('Deserialization error'))
    return 'A server that is not AWS answered: check AWS_ENDPOINT_URL, --endpoint-url and the proxy of this network.';
  const { name, message, whose } = factsOf(error);
  if (/^(Credentials|Token)ProviderError$/.test(name)) return withoutCredentials(message, whose);
  if (/^(ExpiredToken|RequestExpired|TokenRefreshRequired)/.test(name)) {
    return `The AWS credentials${whose} have expired (${name}): log in again, or name others with --profile.`;
  }
  if (CREDENTIALS.test(name))
    return `AWS does not accept the credentials${whose} (${name}): log in again, or check --profile.`;
  if (isDenied(error)) return deniedText(name, message, error);
  if (/^Throttling|TooManyRequests/.test(name))
    return `AWS throttles the calls of this command (${name}). Try again in a minute.`;
  const both = [name, message].filter(Boolean).join(': ');
  if (name === 'NoSuchBucket') {
    return `The bucket of the deployment is missing (${both}): restore it under its old name, or deploy again (docs/runbook.md, StorageDenied).`;
  }
  if (isGone(error)) return `A part of the deployment is missing (${both}). ${RESTORE}.`;
  return onTheWay(`${name} ${message}`, message);
}

/** Whether AWS refused a call because a right is missing. */
export function isDenied(error: unknown): error is Error {
  return error instanceof Error && DENIED.test(error.name);
}

/** The refused right: the right that the message of AWS names, or else the right that the call needs. */
export function deniedRight(error: unknown): string | undefined {
  if (!isDenied(error)) return undefined;
  const needed = 'right' in error ? String(error.right) : undefined;
  return /perform:? ([a-z0-9-]+:\w+)/i.exec(error.message)?.[1] ?? needed;
}

/**
 * Whether AWS says that a part of the deployment does not exist. An object of S3 does not count as a part
 * (`isObjectGone`).
 */
export function isGone(error: unknown): boolean {
  return error instanceof Error && /NotFound|NonExistent|DoesNotExist|^NoSuchBucket$/.test(error.name);
}

function deniedText(name: string, message: string, error: Error): string {
  const right = deniedRight(error);
  const needs = right === undefined || message.includes(right) ? '' : `the call needs ${right}`;
  const what = [message.replace(/\.$/, ''), needs].filter(Boolean).join('; ') || 'it does not name the action';
  return `AWS denies access (${name}): ${sentence(what)} Use other credentials (--profile), or ask for this permission.`;
}

function withoutCredentials(message: string, whose: string): string {
  if (/expired/i.test(message)) return `The AWS credentials${whose} have expired: ${sentence(message)} Log in again.`;
  return `There are no AWS credentials${whose}: ${sentence(message)} Log in, check --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`;
}

/** The message about a call without an answer. */
function onTheWay(facts: string, message: string): string | undefined {
  if (/Region is missing/i.test(message)) return 'No AWS region is set: add --region, or set AWS_REGION.';
  const host = /(?:ENOTFOUND|EAI_AGAIN) (\S+)/.exec(facts)?.[1];
  if (host) return `The host ${host} was not found: check --region, and the network.`;
  const silence = SILENT.exec(facts)?.[0];
  if (!silence) return undefined;
  const place = LOOPBACK.exec(facts)?.[0];
  if (!place) return `AWS does not answer (${silence}): check the network and --region, then try again.`;
  return `The local cloud at ${place} does not answer (${silence}), because it has ended. To start another: npm start -- --keep; that command prints the address.`;
}

/** An error about a host with several addresses has no message of its own, so its inner errors give the messages. */
function factsOf(error: unknown): { name: string; message: string; whose: string } {
  if (!(error instanceof Error)) return { name: '', message: '', whose: '' };
  const all: unknown[] = error instanceof AggregateError ? [error, ...error.errors] : [error];
  const messages = all.map((each) => (each instanceof Error ? each.message : ''));
  const whose = 'profile' in error && error.profile ? ` of the profile ${error.profile}` : '';
  return { name: error.name, whose, message: asciiText(messages.find(Boolean)?.split('\n')[0] ?? '') };
}

export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The sentence and the exit code for any error that ends a command. */
export function describeError(error: unknown) {
  if (error instanceof CommandError) {
    return { sentence: error.message, code: error.exitCode, documented: error.documented };
  }
  if (error instanceof ConfigurationError) {
    return { sentence: error.message.replace(/^/gm, 'ConfigInvalid: '), code: USAGE };
  }
  if (error instanceof RunError) {
    const code = isDenied(error.cause) ? ENVIRONMENT : codeOf(error);
    return { sentence: awsErrorText(error) ?? `${error.name}: ${error.failure.cause}`, code };
  }
  const other = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { sentence: awsErrorText(error) ?? fileText(error) ?? other, code: ENVIRONMENT };
}

/** The sentence for a file or folder of this machine that cannot be used. */
function fileText(error: unknown): string | undefined {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return undefined;
  // The error of a failed write does not name the file.
  if (error.code === 'ENOSPC') return 'The disk is full (ENOSPC): delete files, or name a folder elsewhere in TMPDIR.';
  if (!('path' in error)) return undefined;
  const isTemporary = /^mkd/.test(`${error.syscall}`) && `${error.path}`.startsWith(tmpdir());
  const advice = isTemporary ? ': name another temporary folder in TMPDIR' : '';
  return `${error.path} cannot be read or written (${error.code})${advice}.`;
}

/**
 * Waits for a value that a screen can omit. An error becomes a warning, and the value is `null`.
 * @param what is unknown after an error
 */
export function orUnknown<T>(reading: Promise<T>, warn: (sentence: string) => void, what: string): Promise<T | null> {
  return reading.catch((error: unknown) => {
    warn(`${what}: ${describeError(error).sentence}`);
    return null;
  });
}

/**
 * The error of a command that completed only a part of its work. Prints the document of `--json`.
 * @param done sentence about the completed and the missing part
 * @param document for `--json`; `undefined` without that option
 */
export function partialFailure(error: unknown, done: string, document?: object): CommandError {
  const { sentence: why, code } = describeError(error);
  const whole = `${sentence(why)} ${done}`;
  if (document) printJson({ ok: false, error: whole, ...document });
  return new CommandError(whole, code, { cause: error, documented: document !== undefined });
}
