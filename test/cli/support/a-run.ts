import { executionOf, type Run, runOf } from '../../../cli/runs/run.ts';
import { arnOf } from './cloud/stack.ts';

/** A published run of leads, with changes. */
export function aRun(more: Partial<Run> = {}): Run {
  const executionArn = arnOf('leads-1');
  const [startDate, stopDate] = ['2026-11-20T01:00:00.000Z', '2026-11-20T01:00:12.500Z'].map((time) => new Date(time));
  const described = { executionArn, status: 'SUCCEEDED' as const, startDate, stopDate, input: '{"entity":"leads"}' };
  return { ...runOf(executionOf(described)), entity: 'leads', executionArn, seconds: 12.5, ...more };
}
