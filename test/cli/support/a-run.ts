import { foundRun, type NamedRun, runOf } from '../../../cli/runs/run.ts';
import { arnOf } from './cloud/stack.ts';

/** A published run of leads, with changes. */
export function aRun(more: Partial<NamedRun> = {}): NamedRun {
  const [start, stop] = ['2026-11-20T01:00:00.000Z', '2026-11-20T01:00:12.500Z'].map((time) => new Date(time));
  const item = { executionArn: arnOf('leads-1'), status: 'SUCCEEDED' as const, startDate: start, stopDate: stop };
  const run = runOf(foundRun(item, 'leads', 'export'));
  return { ...run, entity: 'leads', executionArn: arnOf('leads-1'), seconds: 12.5, ...more };
}
