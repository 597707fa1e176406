import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { waitUntil } from './wait-until.ts';

/** A process. `startedAt` distinguishes it from a later process with the same number. */
export type ProcessIdentity = { pid: number; startedAt: string };

/** One running process. */
type ProcessEntry = ProcessIdentity & { parent: number; group: number; name: string };

const GRACE_MS = 5_000;
const KILL_WITHIN_MS = 5_000;
const LOOK_MS = 1000;
const SHELL = /^-?(ba|da|a|k|z)?sh$|^busybox$/;

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
 * The processes in the groups of these leaders. A group outlives its leader, and its number is given again only after
 * its end. No group outlives a boot.
 */
export function groupMembers(leaders: ProcessIdentity[]): ProcessEntry[] {
  const running = runningProcesses();
  const started = new Map(running.map(({ pid, startedAt }) => [pid, startedAt]));
  const [boot] = started.get(process.pid)?.split('/') ?? [];
  const isOfBoot = (startedAt: string) => !startedAt.includes('/') || startedAt.startsWith(`${boot}/`);
  const own = leaders.filter(
    ({ pid, startedAt }) => (started.get(pid) ?? startedAt) === startedAt && isOfBoot(startedAt),
  );
  const groups = new Set(own.map(({ pid }) => pid));
  return running.filter(({ group }) => groups.has(group));
}

/** Ends the processes in the groups of these leaders: SIGTERM, and after 5 seconds SIGKILL. */
export async function endGroups(leaders: ProcessIdentity[]): Promise<void> {
  const isEmpty = () => groupMembers(leaders).length === 0;
  signalAll(leaders, 'SIGTERM');
  if (await waitUntil(isEmpty, { withinMs: GRACE_MS })) return;
  const killed = () => {
    // The signal is repeated: a process may fork between the listing and the signal.
    signalAll(leaders, 'SIGKILL');
    return isEmpty();
  };
  await waitUntil(killed, { withinMs: KILL_WITHIN_MS });
}

function signalAll(leaders: ProcessIdentity[], signal: NodeJS.Signals): void {
  for (const { pid } of groupMembers(leaders)) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process ended by itself in the meantime.
    }
  }
}

/** Calls back once the npm that runs this program has ended, which alone does not end what npm started. */
export function whenNpmEnds(ended: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = processEntry(process.ppid);
  // Some shells stay between npm and the program.
  const npm = parent && SHELL.test(parent.name) ? processEntry(parent.parent) : parent;
  if (!npm) return;
  const timer = setInterval(() => {
    if (isRunning(npm)) return;
    clearInterval(timer);
    ended();
  }, LOOK_MS);
  timer.unref();
}
