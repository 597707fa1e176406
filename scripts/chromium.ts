import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../local/processes/wait-until.ts';

/** Chromium for the tests and for the picture of the README. */

/** The paths at which distributions install Chromium. */
const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const CACHE = join(import.meta.dirname, '..', '.cache');
const UNPACKED = join(CACHE, 'chromium');
// The font of the package lacks signs such as ✓, so the fonts of the machine are searched too.
const FONTS = `<?xml version="1.0"?>
<fontconfig><dir>${join(UNPACKED, 'fonts', 'fonts')}</dir><dir>/usr/share/fonts</dir><cachedir>${join(UNPACKED, 'fonts', 'cache')}</cachedir></fontconfig>
`;

/** Whether a browser is available. Without one, prints which tests are skipped. */
export function hasChromium(): boolean {
  if (findChromium()) return true;
  process.stderr.write('SKIPPED: Chromium is not installed (docs/development.md), so no browser was tested.\n');
  return false;
}

/** A page of a headless browser, controlled by the DevTools protocol. */
export type Browser = Awaited<ReturnType<typeof startChromium>>;

/** Starts Chromium with a new profile and connects to its page. */
export async function startChromium() {
  const found = findChromium();
  if (!found) throw new Error('Chromium is not installed (docs/development.md).');
  const profile = await mkdtemp(join(tmpdir(), 'chromium-test-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  const own = ['--remote-debugging-port=0', `--user-data-dir=${profile}`, '--disable-background-networking'];
  const child = spawn(found.path, [...flags, ...own, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    env: { ...found.env, HOME: profile },
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const close = async () => {
    // Kills the whole group: Chromium has many processes.
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const port = () => /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(said.join(''))?.[1];
    await waitUntil(() => port() !== undefined || child.exitCode !== null, { withinMs: 60_000 });
    if (!port()) throw new Error(`Chromium did not start: ${said.join('')}`);
    const pages = (await (await fetch(`http://127.0.0.1:${port()}/json/list`)).json()) as Record<string, string>[];
    const page = await connectTo(pages.find(({ type }) => type === 'page')?.webSocketDebuggerUrl ?? '');
    for (const domain of ['Page', 'Runtime', 'Log']) await page.send(`${domain}.enable`);
    return { ...page, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** An answer or an event of the DevTools protocol. */
interface Message {
  id?: number;
  method?: string;
  params?: { request?: { url: string }; entry?: { level: string } };
  result?: { result?: { value?: unknown }; data?: string };
  error?: unknown;
}

async function connectTo(url: string) {
  const socket = new WebSocket(url);
  const opened = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => opened.reject(new Error('Chromium does not answer.')));
  const waiting: PromiseWithResolvers<Message['result']>[] = [];
  /** Errors and warnings of the page's console and of its content security policy, without notes of the browser. */
  const complaints: string[] = [];
  /** Addresses that the page requested after `Network.enable`. */
  const requests: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error }: Message = JSON.parse(String(data));
    if (method === 'Runtime.exceptionThrown' || (method === 'Log.entryAdded' && params?.entry?.level !== 'info'))
      complaints.push(JSON.stringify(params));
    if (method === 'Network.requestWillBeSent') requests.push(params?.request?.url ?? '');
    const answer = id === undefined ? undefined : waiting[id];
    if (error) answer?.reject(new Error(JSON.stringify(error)));
    else answer?.resolve(result);
  });
  socket.addEventListener('close', () => {
    for (const answer of waiting) answer.reject(new Error('Chromium ended.'));
  });
  await opened.promise;
  const send = async (method: string, params: object = {}) => {
    if (socket.readyState !== WebSocket.OPEN) throw new Error('Chromium ended.');
    const answer = Promise.withResolvers<Message['result']>();
    socket.send(JSON.stringify({ id: waiting.push(answer) - 1, method, params }));
    return answer.promise;
  };
  const open = (url: string) => send('Page.navigate', { url });
  /** Waits until an expression in the page is not null and returns its value. */
  const value = async (expression: string) => {
    let found: unknown;
    const answers = async () => {
      const answer = await send('Runtime.evaluate', { expression, returnByValue: true }).catch(() => undefined);
      found = answer?.result?.value;
      return found !== undefined && found !== null;
    };
    if (await waitUntil(answers, { withinMs: 50_000 })) return found;
    throw new Error(`The page has no ${expression}.`);
  };
  return { send, open, value, complaints, requests };
}

/**
 * The installed Chromium, or else the one of the package `@sparticuz/chromium`, unpacked once into `.cache`. The
 * package has a binary only for Linux on x64; elsewhere undefined.
 */
function findChromium(): { path: string; env: NodeJS.ProcessEnv } | undefined {
  const installed = INSTALLED.find((path) => existsSync(path));
  if (installed) return { path: installed, env: process.env };
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  if (!existsSync(UNPACKED)) unpack();
  const libraries = [join(UNPACKED, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  const env = { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_PATH: join(UNPACKED, 'fonts') };
  return { path: join(UNPACKED, 'chromium'), env };
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
