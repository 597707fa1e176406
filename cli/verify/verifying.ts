import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopback } from '../../core/config/configuration.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { DeployedStack } from '../checks/deployed-stack.ts';
import { type Finding, unknown } from '../checks/finding.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import type { Pace, Runs } from './runs.ts';

/** One verify: the deployment, and what its checks share. */
export interface Verifying {
  target: Target;
  /** Options for commands to paste. */
  place: TargetOptions;
  /** What the deployed template says. */
  stack: DeployedStack;
  runs: Runs;
  entity: Entity;
  /** Tells what this verify made from what others did. */
  id: string;
  /** Whether an alarm may be set, which mails people. */
  alarm: boolean;
  /** Why nothing may be made; `undefined` where it may. */
  readOnly: string | undefined;
  pace: Pace;
  signal: AbortSignal;
}

/**
 * Looks until there is something, or patience ends.
 * @returns what was seen last
 * @throws the signal's reason
 */
export async function lookUntil<T>(
  look: () => Promise<T>,
  enough: (seen: T) => boolean,
  { pace, signal }: Pick<Verifying, 'pace' | 'signal'>,
): Promise<T> {
  const end = performance.now() + pace.patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (enough(seen) || performance.now() >= end) return seen;
    await sleep(pace.everyMs, undefined, { signal });
  }
}

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
