import { spawn } from 'node:child_process';

const OPENERS: Partial<Record<NodeJS.Platform, [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

interface Surroundings {
  /** False with --no-browser. */
  wanted: boolean;
  isTTY: boolean;
  env: NodeJS.ProcessEnv;
}

/** Whether there may be a person in front of this machine: never in tests, in CI or in a script. */
export function mayOpenBrowser({ wanted, isTTY, env }: Surroundings): boolean {
  return wanted && isTTY && !env.CI && !env.VITEST;
}

/**
 * Opens the system's browser. Where there is none nothing happens: the address is printed anyway.
 * @returns whether a program was started
 */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<boolean> {
  const [command, ...args] = OPENERS[platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.unref();
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('spawn', () => resolve(true));
  });
}
