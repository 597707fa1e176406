import { stat } from 'node:fs/promises';
import { followLines } from './log-tail.ts';
import { type ExitStatus, type StartOptions, startProcess } from './processes.ts';

/** A command that runs to its end. `onLine` sees its output as it comes; `signal` stops it. */
export type CommandOptions = StartOptions & {
  onLine?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** How a command ended, and all that it printed. */
export type CommandResult = ExitStatus & { lines: string[] };

/**
 * Runs a command to its end.
 * @throws EnvironmentError when it cannot be started; the signal's reason when it was stopped
 */
export async function runCommand(options: CommandOptions): Promise<CommandResult> {
  const { logFile, onLine, signal } = options;
  signal?.throwIfAborted();
  const { size: offset } = await stat(logFile).catch(() => ({ size: 0 }));
  const running = await startProcess(options);
  const lines: string[] = [];
  const follower = followLines(logFile, offset, (line) => {
    lines.push(line);
    onLine?.(line);
  });
  const abort = () => void running.stop();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const status = await running.exited;
    await follower.finish();
    return { ...status, lines };
  } finally {
    signal?.removeEventListener('abort', abort);
    await running.stop(); // what it left behind in its group
    await follower.finish();
    signal?.throwIfAborted();
  }
}
