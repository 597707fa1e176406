import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { nightsOf } from '../cli/night/night.ts';
import { reportPage } from '../cli/report/night-report.ts';
import { startChromium } from './chromium.ts';
import { madeUpMonth } from './made-up-month.ts';

/** `npm run pictures`: makes the picture of a made-up report in README.md. */

const FILE = join(import.meta.dirname, '..', 'docs', 'pictures', 'report.png');
const MOST_BYTES = 300_000;
const WINDOW = { width: 1200, height: 1462, deviceScaleFactor: 1, mobile: false };
const screenshotSchema = z.object({ data: z.base64() });

const dir = await mkdtemp(join(tmpdir(), 'pictures-'));
const browser = await startChromium();
try {
  const page = join(dir, 'report.html');
  await writeFile(page, reportPage(nightsOf(madeUpMonth())));
  await browser.send('Emulation.setDeviceMetricsOverride', WINDOW);
  await browser.send('Emulation.setScrollbarsHidden', { hidden: true });
  await browser.open(pathToFileURL(page).href);
  await browser.value("(document.readyState === 'complete' && document.querySelector('footer') && true) || null");
  const { data } = screenshotSchema.parse(await browser.send('Page.captureScreenshot', { format: 'png' }));
  const picture = Buffer.from(data, 'base64');
  if (picture.length > MOST_BYTES) throw new Error(`${FILE} has more than ${MOST_BYTES} bytes.`);
  await writeFile(FILE, picture);
  process.stdout.write(`${FILE}: ${picture.length} bytes\n`);
} finally {
  await browser.close();
  await rm(dir, { recursive: true, force: true });
}
