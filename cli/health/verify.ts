import { randomBytes } from 'node:crypto';
import type { Entity } from '../../core/config/entities.ts';
import { deployedConfiguration, unsettledText } from '../support/deployed-configuration.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Checked, checked, countOf, documentOf, fact, textOf } from './check.ts';
import { RULES, rulesFinding } from './night-checks.ts';
import {
  type Check,
  EXPORT_CHECKS,
  GRANT_CHECK,
  METRIC_CHECK,
  makeExport,
  type Pace,
  type Verifying,
  type VerifyRun,
} from './verify-export.ts';
import { ALARM_CHECK, LEFT_OVERS, REFUSED_CHECKS, RULE_START, removeLeftOvers, stampOf } from './verify-temporary.ts';

interface VerifyCommandOptions extends TargetOptions {
  entity?: Entity;
  alarm?: boolean;
  json?: boolean;
}

/** `verify`; its exit code is 0 only if at least one check holds and none is broken. */
export async function verifyAndPrint(options: VerifyCommandOptions): Promise<void> {
  const { entity = 'leads', alarm = false, json = false } = options;
  const target = await connect(options);
  printErr(
    `Verifying ${target.stack}. This takes up to ten minutes, or longer if the CRM is slow. verify exports ${entity} once, and starts one more run, which fails on purpose and sends a mail.`,
  );
  const words = 'Stopped. The command removed all that it made for the checks. Runs that it started continue.';
  const { checks, runs } = await untilInterrupted(words, (signal) => {
    return verify(target, {
      place: options,
      entity,
      alarm,
      signal,
      ...(!json && { onChecked: (one) => printOut(textOf(one, process.stdout)) }),
    });
  });
  const ok = isProof(checks);
  const [held, warned, broken, unanswered] = (['holds', 'warning', 'broken', 'unknown'] as const).map((verdict) =>
    countOf(checks, verdict),
  );
  if (json) printJson(documentOf(checks, ok));
  else printOut(`${held} passed, ${warned} with a warning, ${broken} failed, ${unanswered} unknown.`);
  printErr(runs.length > 0 ? `Runs that verify started: ${runs.join(', ')}.` : 'verify started no run.');
  process.exitCode = ok ? 0 : RUN_FAILED;
}

/** Whether no check is broken and at least one holds: if no check could be made, verify proves nothing. */
export function isProof(checks: Checked[]): boolean {
  return countOf(checks, 'broken') === 0 && countOf(checks, 'holds') > 0;
}

/** All checks except the last one, `left-overs`, in the order of the output; they run at the same time. */
export const ALL_CHECKS: Check[] = [
  ...EXPORT_CHECKS,
  ...REFUSED_CHECKS,
  METRIC_CHECK,
  ALARM_CHECK,
  {
    ...RULES,
    rights: ['cloudformation:GetTemplate on the stack', ...RULES.rights],
    answer: async ({ target, configuration }) => rulesFinding(target, await configuration),
  },
  RULE_START,
  GRANT_CHECK,
];

export interface VerifyOptions
  extends Pick<Verifying, 'entity' | 'signal'>,
    Partial<Pick<Verifying, 'alarm' | 'pace'>> {
  /** Options for the commands in the advice. */
  place: TargetOptions;
  onChecked?: (one: Checked) => void;
  /** Default: all. */
  checks?: Check[];
}

/** Verify takes about ten minutes if the CRM makes the export at once. */
const PACE: Pace = { everyMs: 5000, patienceMs: 300_000, runMs: 900_000 };

/**
 * Makes every check of a deployment at the same time. At the end it removes its own objects except runs, and the
 * objects of an earlier verify that was killed.
 * @returns the results, and the names of the runs that it started
 * @throws CommandError (exit code 3) if the stack is being changed; the reason of the signal
 */
export async function verify(target: Target, options: VerifyOptions): Promise<{ checks: Checked[]; runs: string[] }> {
  const between = unsettledText(target);
  if (between !== undefined) throw new CommandError(`${between} verify made no changes.`, ENVIRONMENT);
  const { place, entity, alarm = false, pace = PACE, signal, checks = ALL_CHECKS, onChecked } = options;
  const id = `${stampOf(Date.now())}-${randomBytes(3).toString('hex')}`;
  const runs: string[] = [];
  let exported: Promise<VerifyRun> | undefined;
  const verifying: Verifying = {
    ...{ target, entity, id, alarm, pace, signal, runs },
    configuration: fact(deployedConfiguration(target, () => undefined)),
    exported: () => {
      exported ??= makeExport(verifying);
      return exported;
    },
  };
  const results: Checked[] = [];
  const report = (some: Checked[]) => {
    results.push(...some);
    if (!signal.aborted) for (const one of some) onChecked?.(one);
  };
  for (const one of checks.map((check) => checked(check, () => check.answer(verifying), place))) report(await one);
  report(await checked(LEFT_OVERS, () => removeLeftOvers(verifying), place));
  signal.throwIfAborted();
  return { checks: results, runs };
}
