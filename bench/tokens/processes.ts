import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { type Cost, JOB, type Job } from './job.ts';

const costSchema = z.object({
  ...{ wallMs: z.number(), cpuMs: z.number(), tokens: z.array(z.string()) },
  ...{ reads: z.number(), versions: z.number(), ledgerWrites: z.number(), refusedClaims: z.number() },
});

/**
 * Does a job in fresh processes that begin at one moment, once all of them are up.
 * @returns the cost of all together: wall from that moment to the end of the last, the rest as sums
 */
export async function inProcesses(job: Job, count: number, env: Record<string, string>): Promise<Cost> {
  const children = Array.from({ length: count }, () => startChild(job, env));
  try {
    await Promise.all(children.map(({ ready }) => ready));
    const started = performance.now();
    const costs = await Promise.all(children.map(({ begin }) => begin()));
    return { ...costs.reduce(together), wallMs: count === 1 ? (costs[0]?.wallMs ?? 0) : performance.now() - started };
  } finally {
    for (const { child } of children) child.kill();
  }
}

function startChild(job: Job, env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'spend-child.ts')], {
    env: { ...env, [JOB]: JSON.stringify(job) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('A process of the bench ended before it was done.');
    return value;
  };
  return {
    child,
    ready: line(),
    begin: async (): Promise<Cost> => {
      child.stdin.write('\n');
      return costSchema.parse(JSON.parse(await line()));
    },
  };
}

function together(a: Cost, b: Cost): Cost {
  return {
    wallMs: Math.max(a.wallMs, b.wallMs),
    cpuMs: a.cpuMs + b.cpuMs,
    reads: a.reads + b.reads,
    versions: a.versions + b.versions,
    ledgerWrites: a.ledgerWrites + b.ledgerWrites,
    refusedClaims: a.refusedClaims + b.refusedClaims,
    tokens: [...new Set([...a.tokens, ...b.tokens])],
  };
}
