import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { waitUntil } from '../local/processes/wait-until.ts';

/** Chromium for the tests and for the picture of the README. */

/** The paths at which distributions install Chromium. */
const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const CACHE = join(import.meta.dirname, '..', '.cache');
const UNPACKED = join(CACHE, 'chromium');
const FONTS = `<?xml version="1.0"?>
<fontconfig><dir>${join(UNPACKED, 'fonts', 'fonts')}</dir><cachedir>${join(UNPACKED, 'fonts', 'cache')}</cachedir></fontconfig>
`;

/** A headless browser, controlled by the DevTools protocol. */
export interface Browser {
  open(url: string): Promise<void>;
  /** Waits until an expression in the page is not null and returns its value. */
  value(expression: string): Promise<unknown>;
  /** Sends a command of the DevTools protocol to the page. */
  send(method: string, params?: object): Promise<unknown>;
  /** Messages from the page's console and its content security policy. */
  complaints: string[];
  /** Addresses that the page requested after `Network.enable`. */
  requests: string[];
  close(): Promise<void>;
}

/** Whether a browser is available. Without one, prints which tests are skipped. */
export function hasChromium(): boolean {
  if (findChromium()) return true;
  process.stderr.write('SKIPPED: Chromium is not installed (docs/development.md), so no browser was tested.\n');
  return false;
}

const messageSchema = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});
const attachedSchema = z.object({ sessionId: z.string() });
const targetSchema = z.object({ targetId: z.string() });
const requestSchema = z.object({ request: z.object({ url: z.string() }) });
const valueSchema = z.object({ result: z.object({ value: z.unknown() }) });

/** Starts Chromium with a new profile and connects by the DevTools protocol. */
export async function startChromium(): Promise<Browser> {
  const found = findChromium();
  if (!found) throw new Error('Chromium is not installed (docs/development.md).');
  const profile = await mkdtemp(join(tmpdir(), 'chromium-test-'));
  const child = spawn(
    found.path,
    [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
      ...['--remote-debugging-port=0', `--user-data-dir=${profile}`, '--disable-background-networking', 'about:blank'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true, env: { ...found.env, HOME: profile } },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const close = async () => {
    // Kills the whole group: Chromium has many processes.
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const endpoint = () => /DevTools listening on (ws:\S+)/.exec(said)?.[1];
    await waitUntil(() => endpoint() !== undefined || child.exitCode !== null, { withinMs: 30_000 });
    const devTools = await connectTo(endpoint() ?? '', said);
    const { complaints, requests } = devTools;
    return { ...(await firstPage(devTools)), complaints, requests, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type DevTools = Awaited<ReturnType<typeof connectTo>>;

async function connectTo(url: string, said: string) {
  if (!url) throw new Error(`Chromium did not start: ${said}`);
  const socket = new WebSocket(url);
  const opened = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => opened.reject(new Error('Chromium does not answer.')));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const complaints: string[] = [];
  const requests: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error } = messageSchema.parse(JSON.parse(String(data)));
    if (method === 'Log.entryAdded' || method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(params));
    if (method === 'Network.requestWillBeSent') requests.push(requestSchema.parse(params).request.url);
    const answer = waiting.get(id ?? 0);
    if (error) answer?.reject(new Error(JSON.stringify(error)));
    else answer?.resolve(result);
  });
  socket.addEventListener('close', () => {
    for (const answer of waiting.values()) answer.reject(new Error('Chromium ended.'));
  });
  await opened.promise;
  const call = (method: string, params: object = {}, sessionId?: string): Promise<unknown> => {
    if (socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error('Chromium ended.'));
    const id = waiting.size + 1;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    return answer.promise;
  };
  return { call, complaints, requests };
}

async function firstPage({ call }: DevTools): Promise<Pick<Browser, 'open' | 'value' | 'send'>> {
  const { targetId } = targetSchema.parse(await call('Target.createTarget', { url: 'about:blank' }));
  const { sessionId } = attachedSchema.parse(await call('Target.attachToTarget', { targetId, flatten: true }));
  for (const domain of ['Page', 'Runtime', 'Log']) await call(`${domain}.enable`, {}, sessionId);
  const evaluate = async (expression: string) => {
    const answer = await call('Runtime.evaluate', { expression, returnByValue: true }, sessionId).catch(
      () => undefined,
    );
    const parsed = valueSchema.safeParse(answer);
    return parsed.success ? parsed.data.result.value : undefined;
  };
  return {
    send: (method, params = {}) => call(method, params, sessionId),
    open: async (url) => {
      await call('Page.navigate', { url }, sessionId);
    },
    value: async (expression) => {
      let found: unknown;
      const look = async () => {
        found = await evaluate(expression);
        return found !== undefined && found !== null;
      };
      if (await waitUntil(look, { withinMs: 20_000 })) return found;
      throw new Error(`The page has no ${expression}.`);
    },
  };
}

interface Chromium {
  path: string;
  env: NodeJS.ProcessEnv;
}

/**
 * The installed Chromium, or else the one of the package `@sparticuz/chromium`, unpacked once into `.cache`. The
 * package has a binary only for Linux on x64; elsewhere undefined.
 */
function findChromium(): Chromium | undefined {
  const installed = INSTALLED.find((path) => existsSync(path));
  if (installed) return { path: installed, env: process.env };
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  if (!existsSync(UNPACKED)) unpack();
  const libraries = [join(UNPACKED, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return {
    path: join(UNPACKED, 'chromium'),
    env: { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_PATH: join(UNPACKED, 'fonts') },
  };
}

/** Unpacks the package. Two test processes may do so at once: the first complete folder stays. */
function unpack(): void {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'chromium-'));
  const env = { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' };
  execFileSync(process.execPath, [join(import.meta.dirname, 'unpack-chromium.ts')], { env });
  // The package's fonts.conf names folders of a Lambda function. A page without fonts never finishes loading.
  writeFileSync(join(folder, 'fonts', 'fonts.conf'), FONTS);
  try {
    renameSync(folder, UNPACKED);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(UNPACKED)) throw error;
  }
}
