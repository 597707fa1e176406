import { join } from 'node:path';
import { inChildren } from '../support/children.ts';
import { type Cost, figuresOf, type Job } from './job.ts';

const CHILD = join(import.meta.dirname, 'spend-child.ts');

/** Does a job in fresh processes that begin at once. @returns the cost of all: wall to the end of the last, the rest as sums */
export async function inProcesses(job: Job, count: number, env: Record<string, string>): Promise<Cost> {
  const { results: costs, seconds } = await inChildren<Cost>(CHILD, Array(count).fill(job), env);
  return {
    ...figuresOf(costs, (values) => values.reduce((sum, value) => sum + value)),
    wallMs: count === 1 ? (costs[0]?.wallMs ?? 0) : seconds * 1000,
    tokens: [...new Set(costs.flatMap(({ tokens }) => tokens))],
  };
}
