import { join } from 'node:path';
import { startChild } from '../support/children.ts';
import type { Cost, Job } from './job.ts';

const CHILD = join(import.meta.dirname, 'spend-child.ts');

/** Does a job in fresh processes that begin at once. @returns the cost of all: wall to the end of the last, the rest as sums */
export async function inProcesses(job: Job, count: number, env: Record<string, string>): Promise<Cost> {
  const children = Array.from({ length: count }, () => startChild<Cost>(CHILD, job, env));
  try {
    await Promise.all(children.map(({ ready }) => ready));
    const started = performance.now();
    const costs = await Promise.all(children.map(({ begin }) => begin()));
    return { ...costs.reduce(together), wallMs: count === 1 ? (costs[0]?.wallMs ?? 0) : performance.now() - started };
  } finally {
    for (const { child } of children) child.kill();
  }
}

function together(a: Cost, b: Cost): Cost {
  const sum = (key: Exclude<keyof Cost, 'tokens'>) => a[key] + b[key];
  return {
    wallMs: Math.max(a.wallMs, b.wallMs),
    cpuMs: sum('cpuMs'),
    reads: sum('reads'),
    versions: sum('versions'),
    ledgerWrites: sum('ledgerWrites'),
    refusedClaims: sum('refusedClaims'),
    tokens: [...new Set([...a.tokens, ...b.tokens])],
  };
}
