import { execFile } from 'node:child_process';
import { join } from 'node:path';
import * as z from 'zod';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { ACCOUNT, REGION } from './arns.ts';
import type { Request } from './calls.ts';
import type { Policies, Right } from './policies.ts';

const ROOT = join(import.meta.dirname, '../../..');
const WITHIN_MS = 60_000;
const decisionsSchema = z.object({
  requests: z.array(z.enum(['Allow', 'Deny', 'ImplicitDeny'])),
  rights: z.array(z.array(z.int())),
});

/** A principal in any account, with its own policy. */
export type ForeignRequest = Omit<Request, 'role'> & {
  /** As `aws:PrincipalArn` has it. */
  principal: string;
  policy: unknown;
};

/** An AWS service as the caller. */
export type ServiceRequest = Omit<Request, 'role'> & { service: string };

/** The answer to each request, and the requests that each right alone would allow. */
export type Decisions = z.infer<typeof decisionsSchema>;

/** Asks the engine that the local cloud enforces IAM with; it knows conditions, policies of resources and of keys. */
export async function decide(
  policies: Policies,
  requests: (Request | ServiceRequest | ForeignRequest)[],
  rights: Right[] = [],
): Promise<Decisions> {
  const input = JSON.stringify({ account: ACCOUNT, region: REGION, ...policies, requests, rights });
  return decisionsSchema.parse(JSON.parse(await ask(await python(), input)));
}

let found: Promise<string> | undefined;

/** The Python interpreter of the local cloud's environment, found once. */
function python(): Promise<string> {
  found ??= (async () => {
    const record = await openRunRecord(join(ROOT, '.cache'));
    try {
      return (await ensureMinistack({ record })).command;
    } finally {
      await record.close();
    }
  })();
  return found;
}

function ask(command: string, input: string): Promise<string> {
  const args = ['-I', join(import.meta.dirname, 'decide.py')];
  return new Promise((resolve, reject) => {
    const options = { timeout: WITHIN_MS, maxBuffer: 16 * 1024 * 1024, env: { LANG: 'C.UTF-8' } };
    const child = execFile(command, args, options, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    child.stdin?.end(input);
  });
}
