import { createHash } from 'node:crypto';
import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { nightsOf } from '../../../cli/night/night.ts';
import type { Facts } from '../../../cli/night/night-facts.ts';
import { reportPage } from '../../../cli/report/night-report.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { madeUpMonth } from '../../../scripts/made-up-month.ts';
import { recordedNight } from '../../support/recorded-night.ts';

const NIGHT = '2026-11-20';
const pageOf = (facts: Facts) => parseHTML(reportPage(nightsOf(facts))).document;

/** A night with every kind of end and every kind of fact, after two nights that are whole. */
function aNight(): Facts {
  const month = madeUpMonth({
    missing: ['customers'],
    failed: ['leads'],
    paused: ['meetings'],
    withoutRule: ['employers'],
  });
  const since = { date: '2026-11-19', execution: 'x' };
  const drift = { since, added: ['email'], removed: [], retyped: [], unnamed: 0 };
  const published = month.published.map((manifest): Manifest => {
    const { entity, date } = manifest.run;
    if (date !== NIGHT) return manifest;
    if (entity === 'agent-numbers') return { ...manifest, run: { ...manifest.run, drift } };
    const execution = 'workflows-verify-20261120T020000Z-1a2b3c-0';
    const file = { ...manifest.file, format: 'xls' as const, content: null };
    if (entity === 'workflows') return { ...manifest, execution, file };
    return { ...manifest, run: { ...manifest.run, adopted: 'failed-before' } };
  });
  const attempts = month.attempts.map((one) => ({ ...one, byVerify: true }));
  const recorded = [recordedNight('2026-11-18', [], 7), recordedNight(NIGHT, ['leads', 'meetings'], 6)];
  return { ...month, nights: 3, published, attempts, recorded: recorded.map(([, night]) => JSON.parse(night)) };
}

test('shows a night with its headline, a table, the grid with its legend, and the facts of each cell', async () => {
  const document = pageOf(aNight());
  for (const facts of document.querySelectorAll('[popover]')) if (!facts.id.endsWith(NIGHT)) facts.remove();
  const textOf = (element: { textContent: string | null }) => (element.textContent ?? '').replace(/\s+/g, ' ').trim();
  const lines = [...document.querySelectorAll('h1, h2, h3, p, tr, li, dl > div')].map((element) => {
    const parts = [...element.querySelectorAll('th, td, dt, dd')].map(textOf);
    return /^H/.test(element.tagName) ? `\n${textOf(element)}` : parts.length > 0 ? parts.join(' | ') : textOf(element);
  });

  await expect(`${lines.join('\n').trim()}\n`).toMatchFileSnapshot('../../screens/report.txt');
});

test('begins with the headline, and links each cell to its facts', () => {
  const document = pageOf(madeUpMonth({ failed: ['leads'] }));
  const [page, headline] = ['main', 'h1'].map((name) => document.querySelector(name)?.textContent?.trim());
  expect(page?.startsWith(headline ?? '?'), page).toBe(true);
  const buttons = [...document.querySelectorAll('button.cell')];
  expect(buttons).toHaveLength(30 * ENTITIES.length);
  const facts = [...document.querySelectorAll('[popover]')].map(({ id }) => id);
  expect(new Set(facts).size, 'an id is unique').toBe(facts.length);
  for (const button of buttons) {
    expect(facts).toContain(button.getAttribute('popovertarget'));
    expect(button.getAttribute('aria-label')).toMatch(/^[a-z-]+, \d+ \w+: \S/);
  }
});

test.each([1, 2, 3, 30, 90])('clips no label of a chart, with %d nights', (nights) => {
  const month = madeUpMonth();
  // The widest labels, such as `100.0 MB`.
  const published = month.published.map((run) => ({
    ...run,
    file: { ...run.file, bytes: 98_765_432 },
  }));
  const [first, ...others] = pageOf({ ...month, nights, published }).querySelectorAll('svg');
  expect(others).toHaveLength(2 * ENTITIES.length - 1);
  for (const svg of [first, ...others]) {
    expect(svg?.getAttribute('aria-label')).toMatch(new RegExp(` (${ENTITIES.join('|')}) `));
    const [, , width = 0] = svg?.getAttribute('viewBox')?.split(' ').map(Number) ?? [];
    const labels = [...(svg?.querySelectorAll('text') ?? [])].filter(({ textContent }) => textContent !== '');
    expect(labels.length).toBeGreaterThan(2);
    for (const label of labels) {
      const [left, right] = span(label);
      expect([label.textContent, left >= 0 && right <= width]).toEqual([label.textContent, true]);
    }
    // Each date appears once below the drawing.
    const dates = labels.flatMap(({ textContent }) =>
      /[A-Z]/.test(textContent ?? '') && !/B$/.test(textContent ?? '') ? textContent : [],
    );
    expect(new Set(dates).size).toBe(dates.length);
  }
});

interface Label {
  tagName: string;
  textContent: string | null;
  parentElement: Label | null;
  getAttribute(name: string): string | null;
}

/** The start and end of a text of 10 px in the widest usual font. */
function span(label: Label): [number, number] {
  const width = 6.2 * (label.textContent?.length ?? 0);
  let at = 0;
  let anchor = 'start';
  for (let element: Label | null = label; element && element.tagName !== 'svg'; element = element.parentElement) {
    const [, moved = '0'] = /translate\(([-\d.]+)/.exec(element.getAttribute('transform') ?? '') ?? [];
    at += Number(moved) + Number(element.getAttribute('x') ?? 0);
    if (anchor === 'start') anchor = element.getAttribute('text-anchor') ?? 'start';
  }
  const left = at - { start: 0, middle: width / 2, end: width }[anchor as 'start' | 'middle' | 'end'];
  return [left, left + width];
}

test('allows only its own style by hash in the Content-Security-Policy', () => {
  const document = pageOf({ ...madeUpMonth(), nights: 3 });
  const policy = document.querySelector('meta[http-equiv=Content-Security-Policy]')?.getAttribute('content') ?? '';
  const style = document.querySelector('style')?.textContent ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(policy.split('; ')).toEqual([
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    ...["base-uri 'none'", "form-action 'none'"],
  ]);
  expect(document.querySelectorAll('[style], [src], [onclick], link, img, iframe, script')).toHaveLength(0);
  for (const link of document.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^#/);
});

test('escapes all texts of manifests and errors', () => {
  const hostile =
    '</dialog></script><script>alert(1)</script><img src=x onerror=alert(2)>"\' onfocus=alert(3) \u202e&amp;';
  const month = { ...madeUpMonth({ failed: ['leads'] }), nights: 3 };
  const published = month.published.map((manifest) => ({
    ...manifest,
    execution: hostile,
    softwareVersion: hostile,
    warnings: [hostile],
    file: { ...manifest.file, key: hostile, contentType: hostile, crc32: hostile, header: [hostile] },
    run: { ...manifest.run, exportId: hostile },
  }));
  const attempts = month.attempts.map((attempt) => ({ ...attempt, error: hostile, cause: hostile, run: hostile }));
  const plain = pageOf(month);
  const page = pageOf({ ...month, deployment: hostile, published, attempts });
  const count = (document: ReturnType<typeof pageOf>, names: string) => document.querySelectorAll(names).length;
  for (const names of ['script', 'img', 'style', '[popover]', 'svg', '[onerror], [onfocus]']) {
    expect([names, count(page, names)]).toEqual([names, count(plain, names)]);
  }
  expect(page.body.textContent).toContain('<img src=x onerror=alert(2)>"\' onfocus=alert(3) &amp;');
  expect(page.body.textContent).not.toContain('\u202e');
});
