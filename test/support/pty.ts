import { spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { LONGEST_WAIT_MS } from './project.ts';

/** Runs a program in a terminal of the operating system: input acts as typed text, output is what it shows. */
const IN_A_TERMINAL = `
import os, pty, sys
code = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(code) & 255)
`;

/** Runs `node ARGS` in a terminal, for the length of a test at most. */
export function inTerminal(args: string[], env: NodeJS.ProcessEnv = {}) {
  const sized = ['sh', '-c', 'stty cols 200 rows 30; exec "$@"', 'sh', process.execPath, ...args];
  const child = spawn('python3', ['-c', IN_A_TERMINAL, ...sized], {
    env: { ...process.env, NO_COLOR: '1', TERM: 'xterm', ...env },
  });
  onTestFinished(() => void child.kill());
  let shown = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
    });
  }
  let isOver = false;
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isOver = true;
      resolve(code);
    });
  });
  return {
    /** `\r` is the Enter key, `\x03` Ctrl-C. */
    type: (text: string) => child.stdin.write(text),
    /**
     * Waits for a pattern on the screen and returns its first group, or else the whole match. A group must end before
     * the end of the pattern: half of a line may arrive first.
     */
    shows: async (pattern: RegExp): Promise<string> => {
      await waitUntil(() => pattern.test(shown) || isOver, { withinMs: LONGEST_WAIT_MS });
      const found = pattern.exec(shown);
      if (found) return found[1] ?? found[0];
      throw new Error(`The terminal does not show ${pattern}:\n${shown}`);
    },
    /** The exit code. */
    ended,
    shown: () => shown,
  };
}
