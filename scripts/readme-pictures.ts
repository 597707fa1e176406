import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import serialize from '@xterm/addon-serialize';
import headless from '@xterm/headless';
import { reportPage } from '../cli/report/page.ts';
import { reportDataOf } from '../cli/report/report-data.ts';
import { madeUpMonth } from './made-up-month.ts';

/** `npm run pictures`: the two pictures of README.md, a made-up report and the screen of `npm start`. Needs Chromium, Python 3. */

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const PICTURES = join(import.meta.dirname, '..', 'docs', 'pictures');
const MOST_BYTES = 300_000;
const COLUMNS = 138;
const LINES = 1000;

/** Gives a program a terminal of its own. */
const IN_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])) & 255)';

async function main(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'pictures-'));
  try {
    await mkdir(PICTURES, { recursive: true });
    await picture(dir, 'report', reportPage(reportDataOf(madeUpMonth())), { width: 1200, height: 1462 });
    const { html, lines } = await screenOf([process.execPath, 'local/start.ts']);
    await picture(dir, 'start', terminalPage(html), { width: COLUMNS * 8 + 48, height: lines * 18 + 64 });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Writes `docs/pictures/NAME.png` of a page. @throws Error where it is too large for a README */
async function picture(dir: string, name: string, page: string, { width, height }: { width: number; height: number }) {
  const chromium = CHROMIUM.find((path) => existsSync(path));
  if (!chromium) throw new Error(`There is no Chromium (${CHROMIUM.join(', ')}): install it first.`);
  const source = join(dir, `${name}.html`);
  const file = join(PICTURES, `${name}.png`);
  await writeFile(source, page);
  const window = [`--window-size=${width},${height}`, '--hide-scrollbars', '--force-device-scale-factor=1'];
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  const quiet = [...flags, `--user-data-dir=${dir}/profile`];
  await promisify(execFile)(chromium, [...quiet, ...window, `--screenshot=${file}`, pathToFileURL(source).href]);
  const { size } = await stat(file);
  process.stdout.write(`docs/pictures/${name}.png: ${width} x ${height}, ${size} bytes\n`);
  if (size > MOST_BYTES) throw new Error(`${file} has more than ${MOST_BYTES} bytes.`);
}

/** Runs a program in a terminal, and returns the screen at its end. @throws Error when the program fails */
async function screenOf(command: string[]): Promise<{ html: string; lines: number }> {
  const terminal = new headless.Terminal({ cols: COLUMNS, rows: 50, scrollback: LINES, allowProposedApi: true });
  const addon = new serialize.SerializeAddon();
  terminal.loadAddon(addon);
  const child = spawn(
    'python3',
    ['-c', IN_A_TERMINAL, 'sh', '-c', `stty cols ${COLUMNS} rows 50; exec "$@"`, 'sh', ...command],
    { env: { ...process.env, TERM: 'xterm-256color', NO_COLOR: undefined }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const written: Promise<void>[] = [];
  child.stdout.on('data', (chunk: Uint8Array) => {
    written.push(new Promise((resolve) => terminal.write(chunk, resolve)));
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  await Promise.all(written);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${addon.serialize()}`);
  const { active } = terminal.buffer;
  return { html: addon.serializeAsHTML({ includeGlobalBackground: false }), lines: active.baseY + active.cursorY };
}

function terminalPage(screen: string): string {
  return `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #16191d; }
.bar { padding: 14px 24px 6px; color: #9aa4ad; font: 13px system-ui, sans-serif; }
pre { margin: 0; padding: 0 24px; font: 13px/18px "DejaVu Sans Mono", monospace; }
pre * { font: inherit !important; background: none !important; }
pre > div { color: #dfe3e6 !important; }
</style><div class="bar">$ npm start</div>${screen}`;
}

if (import.meta.main) await main();
