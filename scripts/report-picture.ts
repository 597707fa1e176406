import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reportPage } from '../cli/report/page.ts';
import { reportDataOf } from '../cli/report/report-data.ts';
import { madeUpMonth } from './made-up-month.ts';

/** `npm run pictures`: the picture of a made-up report in README.md. Needs Chromium. */

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FILE = join(import.meta.dirname, '..', 'docs', 'pictures', 'report.png');
const MOST_BYTES = 300_000;

const chromium = CHROMIUM.find((path) => existsSync(path));
if (!chromium) throw new Error(`There is no Chromium (${CHROMIUM.join(', ')}): install it first.`);
const dir = await mkdtemp(join(tmpdir(), 'pictures-'));
try {
  const page = join(dir, 'report.html');
  await writeFile(page, reportPage(reportDataOf(madeUpMonth())));
  const window = ['--window-size=1200,1462', '--hide-scrollbars', '--force-device-scale-factor=1'];
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', `--user-data-dir=${dir}`];
  execFileSync(chromium, [...flags, ...window, `--screenshot=${FILE}`, pathToFileURL(page).href]);
} finally {
  await rm(dir, { recursive: true, force: true });
}
const { size } = await stat(FILE);
process.stdout.write(`${FILE}: ${size} bytes\n`);
if (size > MOST_BYTES) throw new Error(`${FILE} has more than ${MOST_BYTES} bytes.`);
