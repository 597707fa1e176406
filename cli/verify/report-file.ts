import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isLoopback } from '../../core/config/configuration.ts';
import { CommandError, ENVIRONMENT, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import type { Verified } from './verify.ts';

/** @throws CommandError (exit code 2) where the file exists or could not be made, before anything is */
export function refuseReport(file: string): void {
  if (existsSync(file))
    throw new CommandError(`${file} exists, and is never overwritten: name another. Nothing was made.`, USAGE);
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    const why = `${file} cannot be written, for its folder is not there or is read-only. Nothing was made.`;
    throw new CommandError(why, USAGE, { cause: error });
  }
}

interface Reported {
  target: Target;
  verified: Verified;
  ok: boolean;
  /** What was asked for. */
  options: { entity: string; alarm: boolean; updates: boolean };
}

/** Writes what held into a file that can be sent to whoever maintains this software. @throws CommandError (exit code 3) */
export async function writeReport(file: string, { target, verified, ok, options }: Reported): Promise<void> {
  const [region, account = 'none'] = target.StateMachineArn.split(':').slice(3);
  const endpoint = await target.s3.config.endpoint?.();
  const report = {
    schemaVersion: 1,
    madeAt: new Date().toISOString(),
    release: target.SoftwareVersion,
    region,
    // What holds in a local cloud is no word about AWS.
    local: isLoopback(endpoint && `${endpoint.protocol}//${endpoint.hostname}`),
    options,
    resources: verified.stack.counts,
    ok,
    checks: verified.checks.map(({ id, verdict, found }) => ({ id, verdict, found: withoutNames(found, account) })),
  };
  try {
    writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw new CommandError(`${file} could not be written: --json prints what was checked.`, ENVIRONMENT, {
      cause: error,
      documented: true,
    });
  }
}

/** A sentence without whose accounts these are, its own and those of readers, addresses and people. */
function withoutNames(text: string, account: string): string {
  return text
    .replace(/\bhttps?:\/\/\S+/gi, '(an address)')
    .replace(/\barn:[\w-]+:(?:iam|sts)::\S+/g, '(a principal)')
    .replace(/[^\s@"'<>]+@[^\s@"'<>]+/g, '(a mail address)')
    .replace(/ --profile (?:'[^']*'|\S+)/g, '')
    .replaceAll(account, 'ACCOUNT')
    .replace(/\b\d{12}\b/g, '(an account)')
    .replace(/\bo-[a-z0-9]{10,32}\b/g, '(an organization)')
    .replace(/\bA(?:RO|ID|KI|SI|GP)A[A-Z0-9]{12,}\b/g, '(a principal)');
}
