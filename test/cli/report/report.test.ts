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

test.each([1, 30])('has two charts of each entity with a summary, and each date once: %d nights', (nights) => {
  const charts = [...pageOf({ ...madeUpMonth(), nights }).querySelectorAll('svg')];
  expect(charts).toHaveLength(2 * ENTITIES.length);
  for (const svg of charts) {
    expect(svg.getAttribute('aria-label')).toMatch(new RegExp(` (${ENTITIES.join('|')}) by night: \\S`));
    const labels = [...svg.querySelectorAll('text')].map(({ textContent }) => textContent ?? '');
    const dates = labels.filter((label) => /[A-Z]/.test(label) && !label.endsWith('B'));
    expect([dates.length > 0, new Set(dates).size]).toEqual([true, dates.length]);
  }
});

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
