import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { waitUntil } from './wait-until.ts';

/** A process. `startedAt` distinguishes it from a later process with the same number. */
export type ProcessIdentity = { pid: number; startedAt: string };

/** One running process. */
export type ProcessEntry = ProcessIdentity & { parent: number; group: number; name: string };

const GRACE_MS = 5_000;
const KILL_WITHIN_MS = 5_000;

/** Environment variable that names the run and the start to which a process and all its descendants belong. */
export const PROCESS_MARK = 'CRM_EXPORT_LOCAL_PROCESS';

/** Every running process of this machine except zombies: in a container, they may stay forever. */
export function runningProcesses(): ProcessEntry[] {
  return process.platform === 'linux' ? fromProc() : fromPs();
}

/** The process with this number; undefined when there is none. */
export function processEntry(pid: number): ProcessEntry | undefined {
  return runningProcesses().find((entry) => entry.pid === pid);
}

/** Whether this process still runs, rather than another one with its number. */
export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  return processEntry(pid)?.startedAt === startedAt;
}

/**
 * Whether a process's mark begins with `prefix`: finds processes that left their group. Always false except on Linux.
 */
export function hasMark(pid: number, prefix: string): boolean {
  if (process.platform !== 'linux') return false;
  return read(`/proc/${pid}/environ`)
    .split('\0')
    .some((variable) => variable.startsWith(`${PROCESS_MARK}=${prefix}`));
}

function fromProc(): ProcessEntry[] {
  // Start times count from boot and compare only within one.
  const boot = read('/proc/sys/kernel/random/boot_id').trim();
  return readdirSync('/proc').flatMap((pid) => {
    // The command name, in parentheses, can contain spaces and parentheses, so the fields are counted from its end.
    const [, name = '', rest = ''] =
      /^\d+ \((.*)\) (.*)$/s.exec(/^\d/.test(pid) ? read(`/proc/${pid}/stat`) : '') ?? [];
    const [state, parent, group] = rest.split(' ');
    const startTicks = rest.split(' ')[19];
    if (startTicks === undefined || state === 'Z' || state === 'X') return [];
    const startedAt = `${boot}/${startTicks}`;
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), startedAt, name }];
  });
}

/** The process list of `ps`, for every Unix, with start times in whole seconds. */
export function fromPs(): ProcessEntry[] {
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  const text = execFileSync('ps', ['-axo', 'pid=,ppid=,pgid=,stat=,lstart=,comm='], { encoding: 'utf8', env });
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, state, startedAt, command = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+? \d{4})\s+(.*?)\s*$/.exec(line) ?? [];
    if (startedAt === undefined || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), startedAt, name: basename(command) }];
  });
}

/** The content of a file; empty when the process is gone, or belongs to another user. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Ends processes: SIGTERM, and after 5 seconds SIGKILL.
 * @param find lists the processes that still run; called again until the list is empty
 */
export async function endProcesses(find: () => ProcessEntry[]): Promise<void> {
  const none = () => find().length === 0;
  signalAll(find(), 'SIGTERM');
  if (await waitUntil(none, { withinMs: GRACE_MS })) return;
  const killed = () => {
    // The signal is repeated: a process may fork between the listing and the signal.
    signalAll(find(), 'SIGKILL');
    return none();
  };
  await waitUntil(killed, { withinMs: KILL_WITHIN_MS });
}

function signalAll(entries: ProcessEntry[], signal: NodeJS.Signals): void {
  for (const { pid } of entries) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process ended by itself in the meantime.
    }
  }
}
