import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { nightsOf } from '../../cli/night/night.ts';
import { reportPage } from '../../cli/report/night-report.ts';
import { type Browser, hasChromium, startChromium } from '../../scripts/chromium.ts';
import { madeUpMonth } from '../../scripts/made-up-month.ts';
import { folderForAll } from '../lib/support/files.ts';

/** Tests the page of `report` in a real browser, opened as a file. */

/** The width of A4 without margins of 12 mm, at 96 pixels per inch. */
const A4_PIXELS = Math.floor(((210 - 2 * 12) / 25.4) * 96);
const treeSchema = z.object({
  nodes: z.array(
    z.object({
      role: z.object({ value: z.string() }).optional(),
      name: z.object({ value: z.string() }).optional(),
      ignored: z.boolean(),
    }),
  ),
});

describe.skipIf(!hasChromium())('the report in a real browser', () => {
  let browser: Browser;
  const dir = folderForAll();
  let url: string;

  beforeAll(async () => {
    const month = madeUpMonth({ missing: ['customers'], failed: ['leads'], paused: ['meetings'] });
    await writeFile(join(dir, 'report.html'), reportPage(nightsOf(month)));
    url = pathToFileURL(join(dir, 'report.html')).href;
    browser = await startChromium();
    await browser.send('Network.enable');
  });
  afterAll(() => browser?.close());
  beforeEach(() => {
    browser.requests.length = 0;
    browser.complaints.length = 0;
  });

  /** Opens the page again in a window of a width, with a theme. */
  async function open({ width = 1280, theme = 'light', media = '', page = url } = {}) {
    const height = 900;
    await browser.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    const features = [{ name: 'prefers-color-scheme', value: theme }];
    await browser.send('Emulation.setEmulatedMedia', { media, features });
    await browser.open('about:blank');
    await browser.value("location.href === 'about:blank' || null");
    await browser.open(page);
    await browser.value("(document.readyState === 'complete' && document.querySelector('footer') && true) || null");
  }

  const at = async (expression: string) => JSON.parse(String(await browser.value(`JSON.stringify(${expression})`)));

  async function press(key: string, code = key) {
    const text = key === 'Enter' ? { text: '\r' } : {};
    const codes: Record<string, number> = { Tab: 9, Enter: 13, Escape: 27 };
    const event = { key, code, windowsVirtualKeyCode: codes[key], ...text };
    await browser.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await browser.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  const focused = () => at("document.activeElement.getAttribute('popovertarget') ?? document.activeElement.tagName");
  const opened = () => at("[...document.querySelectorAll(':popover-open')].map(({ id }) => id)");

  /** Presses Tab until the focus is in the grid. */
  async function tabToGrid(): Promise<number> {
    for (let presses = 1; presses < 40; presses += 1) {
      await press('Tab');
      if (await at("document.activeElement.matches('.grid button.cell')")) return presses;
    }
    throw new Error('the Tab key does not lead into the grid');
  }

  test.for([
    ['light', 1280, [251, 250, 248]],
    ['light', 400, [251, 250, 248]],
    ['dark', 1280, [20, 23, 26]],
    ['dark', 400, [20, 23, 26]],
  ] as const)(
    'shows the %s theme at %i pixels without a scrollbar, error or request',
    async ([theme, width, background]) => {
      await open({ theme, width });
      // The page has no horizontal scrollbar.
      expect(await at('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
      expect(await at('getComputedStyle(document.body).backgroundColor')).toBe(`rgb(${background.join(', ')})`);
      // A narrow window starts at the newest night.
      expect(
        await at("Math.round(document.querySelector('.grid thead .last').getBoundingClientRect().right)"),
      ).toBeLessThanOrEqual(width);
      expect(browser.complaints).toEqual([]);
      expect(browser.requests).toEqual([url]);
    },
  );

  test.each([30, 90, 400])('prints %i nights on A4 without cut or covered names', async (nights) => {
    await writeFile(
      join(dir, 'printed.html'),
      reportPage(nightsOf({ ...madeUpMonth({ paused: ['meetings'] }), nights })),
    );
    await open({ page: pathToFileURL(join(dir, 'printed.html')).href, width: A4_PIXELS, media: 'print' });
    const [names, ...others]: [left: number, right: number][][] = await at(
      `['.grid tbody th', '.grid tbody td', '.list th, .list td, figure'].map((cells) => [...document.querySelectorAll(cells)].map((cell) => {
        const { left, right } = cell.getBoundingClientRect();
        return [left, right];
      }))`,
    );
    const [left, right] = [Math.min, Math.max].map((end, side) =>
      end(...(names ?? []).map((ends) => ends[side] ?? Number.NaN)),
    );
    expect(left).toBeGreaterThanOrEqual(0);
    expect(Math.min(...(others[0] ?? []).map(([start]) => start))).toBeGreaterThanOrEqual(right ?? 0);
    expect(Math.max(...others.flat().map(([, end]) => end))).toBeLessThanOrEqual(A4_PIXELS);
    expect(
      await at(
        "[...document.querySelectorAll('.grid tbody th')].filter((name) => name.scrollWidth > name.clientWidth)",
      ),
    ).toEqual([]);
  });

  test('has readable contrast in both themes', async () => {
    for (const theme of ['light', 'dark']) {
      await open({ theme });
      const pairs: [string, string, string][] =
        await at(`[...document.querySelectorAll('h1, header p, .cell, .list td, .list th, .hint, figcaption span, footer p')].map((element) => {
        let ground = element;
        while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
        return [element.className || element.tagName, getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
      })`);
      const weak = pairs.filter(([, text, ground]) => contrast(text, ground) < 4.5);
      expect([theme, ...new Set(weak.map((pair) => pair.join(' ')))]).toEqual([theme]);
    }
  });

  test.each(['Escape', 'the button Close'])('Enter opens a cell, and %s returns to it', async (way) => {
    await open();
    await tabToGrid();
    const cell = await focused();
    expect(await at('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await press('Enter');
    expect(await opened()).toEqual([cell]);
    if (way !== 'Escape') {
      await press('Tab');
      expect(await at('document.activeElement.textContent')).toBe('Close');
    }
    await press(way === 'Escape' ? 'Escape' : 'Enter');
    expect(await opened()).toEqual([]);
    expect(await focused()).toBe(cell);
  });

  test('a screen reader gets headings, tables with captions, and pictures with names', async () => {
    await open();
    const { nodes } = treeSchema.parse(await browser.send('Accessibility.getFullAXTree'));
    const names = (role: string) =>
      nodes.filter((node) => !node.ignored && node.role?.value === role).map((node) => node.name?.value ?? '');
    expect(names('heading')).toEqual([
      'Last night: 3 of 7 missing: leads, customers, meetings (prod)',
      ...['Last night', 'Nights', 'Rows', 'Bytes'],
    ]);
    expect(names('table').slice(0, 2)).toEqual(['Friday 20 November 2026', expect.stringMatching(/ 30 nights$/)]);
    expect(names('rowheader')).toEqual(expect.arrayContaining(['leads', 'meetings paused']));
    expect(names('columnheader')).toEqual(expect.arrayContaining(['Outcome', '20 November']));
    expect(names('button')).toContain('leads, 20 November: failed (ReauthorizationRequired)');
    const pictures = nodes.filter((node) => /^(image|img|graphics-document)$/.test(node.role?.value ?? ''));
    expect(pictures).toHaveLength(14);
    expect(pictures[0]?.name?.value).toMatch(/^Rows of leads by night: 22,259 on 19 November, 18,610 to 22,259$/);
  });
});

/** The WCAG 2 contrast ratio of two colours in the browser's notation. */
function contrast(...colours: [string, string]): number {
  const [light = 0, dark = 0] = colours.map(luminance).sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map((part) => {
    const value = Number(part) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
