import { readdirSync, readFileSync } from 'node:fs';

/** Kills the processes in which a local cloud runs a function; how many there were. Linux only. */
export async function killWorkersOf({ pid: cloud }: { pid: number }, step: string): Promise<number> {
  const processes = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const workers = processes.filter((pid) => parentOf(pid) === cloud && runsFunction(pid, step));
  for (const pid of workers) process.kill(pid, 'SIGKILL');
  return workers.length;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(textOf(`/proc/${pid}/status`))?.[1]);
}

function runsFunction(pid: number, step: string): boolean {
  const name = textOf(`/proc/${pid}/environ`)
    .split('\0')
    .find((variable) => variable.startsWith('AWS_LAMBDA_FUNCTION_NAME='));
  return name?.endsWith(`-${step}`) ?? false;
}

/** Processes come and go while they are looked at. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
