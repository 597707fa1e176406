import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nightsOf } from '../cli/night/night.ts';
import { reportPage } from '../cli/report/night-report.ts';
import { startChromium } from './chromium.ts';
import { madeUpMonth } from './made-up-month.ts';

/** `npm run pictures`: makes the picture of a made-up report in README.md. */

const FILE = join(import.meta.dirname, '..', 'docs', 'pictures', 'report.png');
const WINDOW = { width: 1200, height: 1462, deviceScaleFactor: 1, mobile: false };

const dir = await mkdtemp(join(tmpdir(), 'pictures-'));
const browser = await startChromium();
try {
  const page = join(dir, 'report.html');
  await writeFile(page, reportPage(nightsOf(madeUpMonth())));
  await browser.send('Emulation.setDeviceMetricsOverride', WINDOW);
  await browser.send('Emulation.setScrollbarsHidden', { hidden: true });
  await browser.open(pathToFileURL(page).href);
  await browser.value("(document.readyState === 'complete' && document.querySelector('footer') && true) || null");
  const answer = await browser.send('Page.captureScreenshot', { format: 'png' });
  await writeFile(FILE, Buffer.from(answer?.data ?? '', 'base64'));
} finally {
  await browser.close();
  await rm(dir, { recursive: true, force: true });
}
