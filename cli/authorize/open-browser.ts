import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const OPENERS: Partial<Record<NodeJS.Platform, [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Whether there may be a person in front of this machine: never in tests, in CI or in a script. */
export function mayOpenBrowser(options: { wanted: boolean; isTTY: boolean; env: NodeJS.ProcessEnv }): boolean {
  const { wanted, isTTY, env } = options;
  return wanted && isTTY && !env.CI && !env.VITEST;
}

/**
 * Opens the system's browser. Everybody on this machine can read the arguments of its processes, so the program is given a
 * page on loopback that leads to the address. Where there is no browser nothing happens: the address is printed anyway.
 * @param opener by default that of the platform
 * @returns whether a program was started
 */
export async function openBrowser(
  url: string,
  opener: [command: string, ...args: string[]] = OPENERS[process.platform] ?? ['xdg-open'],
): Promise<boolean> {
  const leading = await leadingTo(url).catch(() => undefined);
  if (!leading) return false;
  const [command, ...args] = opener;
  const child = spawn(command, [...args, leading.page], { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    leading.server.close();
    return false;
  }
}

/** A page that answers once: whoever finds its address later among the processes gets nothing. */
async function leadingTo(url: string): Promise<{ page: string; server: Server }> {
  const path = `/${randomUUID()}`;
  const headers = { location: url, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', connection: 'close' };
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== path) {
      return void response.writeHead(404, { connection: 'close' }).end();
    }
    response.writeHead(302, headers).end();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // Nobody waits for a browser that never comes.
  server.unref();
  const { port } = server.address() as AddressInfo;
  return { page: `http://127.0.0.1:${port}${path}`, server };
}
