import { randomBytes } from 'node:crypto';
import { paginateGetExecutionHistory, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { STEPS } from '../../../core/step/steps.ts';
import { followRun } from '../../runs/executions.ts';
import type { RunReport } from '../../runs/run-report.ts';
import { NotChecked } from './check.ts';
import type { Verifying } from './verifying.ts';

/** A run that this verify made, to its end. */
export interface Made extends RunReport {
  name: string;
  startedAt: Date;
  traceId: string;
  /** Those whose functions it called: not every run has every step. */
  steps: string[];
}

export interface Runs {
  /** One export, made once for all checks. @throws NotChecked where it is not over in time */
  exported: () => Promise<Made>;
  /** The same, if it is published. @throws NotChecked */
  published: () => Promise<Made & { manifestKey: string; key: string }>;
  /** A run that has to fail. */
  failing: (input: object) => Promise<Made>;
  /** Names of all that were started. */
  names: string[];
}

type Place = Pick<Verifying, 'target' | 'entity' | 'pace' | 'signal' | 'id'>;

export function createRuns(place: Place): Runs {
  const names: string[] = [];
  let export_: Promise<Made> | undefined;
  const make = (beginning: string, input: object) => {
    const name = `${beginning}-${place.id}-${names.length}`;
    names.push(name);
    return made(place, name, input);
  };
  const exported = () => {
    export_ ??= make(`${place.entity}-verify`, { entity: place.entity });
    return export_;
  };
  return {
    names,
    exported,
    published: async () => {
      const run = await exported();
      const { manifestKey, key } = run;
      if (isPublished(run) && manifestKey && key) return { ...run, manifestKey, key };
      throw new NotChecked('the export was not published');
    },
    failing: (input) => make('verify', input),
  };
}

export function isPublished({ status, manifestKey, unpublished, withoutJob }: RunReport): boolean {
  return status === 'SUCCEEDED' && manifestKey !== null && unpublished === null && withoutJob === null;
}

async function made({ target, entity, pace, signal }: Place, name: string, input: object): Promise<Made> {
  const startedAt = new Date();
  const traceId = `1-${Math.floor(startedAt.getTime() / 1000).toString(16)}-${randomBytes(12).toString('hex')}`;
  const { executionArn = '' } = await target.sfn.send(
    new StartExecutionCommand({
      stateMachineArn: target.StateMachineArn,
      name,
      input: JSON.stringify(input),
      // Else X-Ray takes a part of the runs only.
      traceHeader: `Root=${traceId};Sampled=1`,
    }),
  );
  const limit = AbortSignal.timeout(pace.runMs);
  const follow = { everyMs: Math.min(pace.everyMs, 2000), signal: AbortSignal.any([signal, limit]) };
  const report = await followRun(target.sfn, entity, executionArn, follow).catch((error: unknown) => {
    if (!limit.aborted || signal.aborted) throw error;
    throw new NotChecked(`${name} was still under way after ${Math.round(pace.runMs / 60_000)} minutes`);
  });
  return { ...report, name, startedAt, traceId, steps: await stepsOf(target, executionArn) };
}

async function stepsOf({ sfn: client }: Place['target'], executionArn: string): Promise<string[]> {
  const entered = new Set<string | undefined>();
  for await (const { events = [] } of paginateGetExecutionHistory({ client }, { executionArn })) {
    for (const { stateEnteredEventDetails: details } of events) entered.add(details?.name);
  }
  return Object.keys(STEPS).filter((step) => entered.has(step));
}
