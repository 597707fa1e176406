import { isRunning, type ProcessIdentity, processEntry } from './process-table.ts';

/** The name that npm gives itself. A program that npm has run hands its variables on, and may end before what it starts. */
const NPM = /^npm\b/;
const SHELL = /^-?(ba|da|a|k|z)?sh$|^busybox$/;
const LOOK_MS = 1000;

/** The npm that runs this program, itself or by a shell; none where it runs without. */
export function npmAbove(env = process.env): ProcessIdentity | undefined {
  if (env.npm_lifecycle_event === undefined) return undefined;
  const parent = processEntry(process.ppid);
  const above = parent && SHELL.test(parent.name) ? processEntry(parent.parent) : parent;
  return above && NPM.test(above.name) ? above : undefined;
}

/** Calls back once a process has ended: who ends npm alone ends nothing that npm has started. */
export function whenGone(watched: ProcessIdentity | undefined, gone: () => void): void {
  if (!watched) return;
  const timer = setInterval(() => {
    if (isRunning(watched)) return;
    clearInterval(timer);
    gone();
  }, LOOK_MS);
  timer.unref();
}
