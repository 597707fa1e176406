import { readdirSync, readFileSync } from 'node:fs';
import type { AnyStepName } from '../../../core/step/steps.ts';
import type { Deployed } from './deployed.ts';

/** Kills the processes in which the local cloud runs a function of a deployment. Returns their number. Linux only. */
export async function killWorkersOf({ cloud, target }: Deployed, step: AnyStepName): Promise<number> {
  const processes = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const workers = processes.filter(
    (pid) => parentOf(pid) === cloud.pid && runsFunction(pid, `${target.stack}-${step}`),
  );
  for (const pid of workers) process.kill(pid, 'SIGKILL');
  return workers.length;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(textOf(`/proc/${pid}/status`))?.[1]);
}

function runsFunction(pid: number, name: string): boolean {
  return textOf(`/proc/${pid}/environ`).split('\0').includes(`AWS_LAMBDA_FUNCTION_NAME=${name}`);
}

/** A process may end while its file is read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
