import { isLoopback } from '../../../core/config/configuration.ts';
import { type Finding, unknown } from '../../checks/finding.ts';
import type { Target } from '../../support/target.ts';

/** Asks something by which it shows that a cloud does not do what AWS does. @returns what it shows, if it does */
export type Control = (endpoint: string) => Promise<string | undefined>;

/**
 * The finding, or, where it does not hold in a local cloud that a control request shows not to enforce it, that it cannot be
 * told there. AWS itself is never asked: at a loopback address there is none.
 */
export async function unlessNotEnforced(
  { s3 }: Pick<Target, 's3'>,
  finding: Finding,
  control: Control,
): Promise<Finding> {
  if (finding.verdict === 'holds') return finding;
  const at = await s3.config.endpoint?.();
  const endpoint = at && `${at.protocol}//${at.hostname}:${at.port ?? ''}`;
  if (!isLoopback(endpoint)) return finding;
  // What cannot be asked shows nothing.
  const shown = await control(endpoint ?? '').catch(() => undefined);
  return shown === undefined ? finding : unknown(`not enforced here: ${shown}`);
}

const ANSWERS_WITHIN_MS = 5000;

/** A bucket that is closed to the public tells nobody without credentials how it keeps versions. */
export function readsWithoutCredentials({ BucketName }: Pick<Target, 'BucketName'>): Control {
  return async (endpoint) => {
    const { ok } = await fetch(`${endpoint}/${BucketName}?versioning`, {
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    return ok ? 'this cloud lets whoever has no credentials read the bucket' : undefined;
  };
}
