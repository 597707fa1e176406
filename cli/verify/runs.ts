import { paginateGetExecutionHistory, StartExecutionCommand } from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import { STEPS } from '../../core/step/steps.ts';
import { CannotTell } from '../checks/finding.ts';
import { followRun } from '../runs/executions.ts';
import type { NamedRun, Run } from '../runs/run/run.ts';
import type { Target } from '../support/target.ts';

/** How often something is looked at, and for how long. */
export interface Pace {
  everyMs: number;
  /** Logs and metrics come minutes after the run. */
  patienceMs: number;
  /** An export that takes longer is not waited for. */
  runMs: number;
}

/** What a check needs that looks at a run which this verify makes. */
export const RUN_RIGHTS = [
  'states:StartExecution on ExportRun',
  'states:DescribeExecution on executions of ExportRun',
  'states:GetExecutionHistory on executions of ExportRun',
];

/** A run that this verify made, to its end. */
export interface Made extends NamedRun {
  /** The time before Step Functions was asked, by the clock of this machine. */
  askedAt: Date;
  /** The steps whose functions the run called: not every run has every step. */
  steps: string[];
}

export interface Runs {
  /** One export, made once for all checks. @throws CannotTell where it is not over in time */
  exported: () => Promise<Made>;
  /** The export of `exported`, if it is published. @throws CannotTell */
  published: () => Promise<Made & { manifestKey: string; key: string }>;
  /** Names of all that were started. */
  names: string[];
}

interface RunsOptions {
  target: Pick<Target, 'sfn' | 'StateMachineArn'>;
  entity: Entity;
  pace: Pace;
  /** Tells what this verify made from what others did. */
  id: string;
  signal: AbortSignal;
}

export function createRuns(options: RunsOptions): Runs {
  const names: string[] = [];
  let export_: Promise<Made> | undefined;
  const exported = () => {
    if (export_) return export_;
    const name = `${options.entity}-verify-${options.id}-0`;
    names.push(name);
    export_ = made(options, name);
    return export_;
  };
  return {
    names,
    exported,
    published: async () => {
      const run = await exported();
      const { manifestKey, key } = run;
      if (isPublished(run) && manifestKey && key) return { ...run, manifestKey, key };
      throw new CannotTell('the export was not published');
    },
  };
}

export function isPublished({ outcome, manifestKey }: Run): boolean {
  return outcome === 'published' && manifestKey !== null;
}

async function made({ target, entity, pace, signal }: RunsOptions, name: string): Promise<Made> {
  const askedAt = new Date();
  const { executionArn = '' } = await target.sfn.send(
    new StartExecutionCommand({
      stateMachineArn: target.StateMachineArn,
      name,
      input: JSON.stringify({ entity }),
    }),
  );
  const limit = AbortSignal.timeout(pace.runMs);
  const follow = { everyMs: Math.min(pace.everyMs, 2000), signal: AbortSignal.any([signal, limit]) };
  const run = await followRun(target.sfn, entity, executionArn, follow).catch((error: unknown) => {
    if (!limit.aborted || signal.aborted) throw error;
    throw new CannotTell(`${name} was still under way after ${Math.round(pace.runMs / 60_000)} minutes`);
  });
  return { ...run, askedAt, steps: await stepsOf(target, executionArn) };
}

async function stepsOf({ sfn: client }: RunsOptions['target'], executionArn: string): Promise<string[]> {
  const entered = new Set<string | undefined>();
  for await (const { events = [] } of paginateGetExecutionHistory({ client }, { executionArn })) {
    for (const { stateEnteredEventDetails: details } of events) entered.add(details?.name);
  }
  return Object.keys(STEPS).filter((step) => entered.has(step));
}
