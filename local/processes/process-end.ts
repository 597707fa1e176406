import type { ProcessEntry } from './process-table.ts';
import { waitUntil } from './wait-until.ts';

const GRACE_MS = 5_000;
const KILL_WITHIN_MS = 5_000;

/**
 * Ends processes: SIGTERM, and SIGKILL for those that are still there after 5 seconds.
 * @param find lists those of them that still run; asked again until there are none
 */
export async function endProcesses(find: () => ProcessEntry[]): Promise<void> {
  const none = () => find().length === 0;
  signalAll(find(), 'SIGTERM');
  if (await waitUntil(none, { withinMs: GRACE_MS })) return;
  const killed = () => {
    // The signal is sent again and again: a process may have forked between the look and the blow.
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
