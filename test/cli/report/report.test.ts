import { createHash } from 'node:crypto';
import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { addDownload } from '../../../cli/data/download.ts';
import { nightsOf } from '../../../cli/night/night.ts';
import type { Facts } from '../../../cli/night/night-facts.ts';
import { addReport } from '../../../cli/report/night-report.ts';
import { reportPage } from '../../../cli/report/page.ts';
import { addList } from '../../../cli/runs/list-runs.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { madeUpMonth } from '../../../scripts/made-up-month.ts';
import { runCli, useCommands } from '../support/run-cli.ts';

useCommands({ list: addList, download: addDownload, report: addReport });

const NIGHT = '2026-11-20';
const pageOf = (facts: Facts) => parseHTML(reportPage(nightsOf(facts))).document;

test.each([
  ['download', ['leads', '--date', '2026-11-20', '--run', 'x'], /cannot be used with option '--run/],
  ['download', ['leads', '-o', '-', '--json'], /the file or the document, not both/],
  ['download', ['leads', '--date', 'yesterday'], /A date that exists/],
  ['report', ['--nights', '0'], /A whole number from 1 to 400/],
  ['list', ['--since', 'yesterday'], /7d or 2w/],
  ['list', ['--limit', '0'], /A whole number from 1/],
  ['list', ['--running', '--failed'], /'--failed' cannot be used with option '--running'/],
])('%s %j is a mistake of usage', async (command, args, sentence) => {
  const { code, stderr } = await runCli(command, ...args, '--deployment', 'test');
  expect(code).toBe(2);
  expect(stderr).toMatch(sentence);
});

test('the first thing on the page is the answer, and each cell leads to its facts', () => {
  const document = pageOf(madeUpMonth({ failed: ['leads'] }));
  const headline = document.querySelector('main')?.textContent?.trim();
  expect(headline?.startsWith(`✕Last night: 1 of ${ENTITIES.length} missing: leads`), headline).toBe(true);
  const buttons = [...document.querySelectorAll('button.cell')];
  expect(buttons).toHaveLength(30 * ENTITIES.length);
  for (const button of buttons) {
    const facts = document.getElementById(button.getAttribute('popovertarget') ?? '');
    expect(facts?.hasAttribute('popover')).toBe(true);
    expect(button.getAttribute('aria-label')).toMatch(/^[a-z-]+, \d+ \w+: (published|failed|not started)/);
  }
  const failure = document.getElementById(`leads-${NIGHT}`)?.textContent ?? '';
  expect(failure).toContain('ReauthorizationRequired');
  expect(failure).toContain('docs/runbook.md#reauthorizationrequired');
  expect(failure).toMatch(/What helps: npx --no -- crm-export show leads-\S+ --deployment prod/);
  expect(document.getElementById(`contacts-${NIGHT}`)?.textContent).toMatch(
    /Rows44,348.*CRC-32\S+==.*Manifestruns\/entity=contacts/,
  );
});

test('the facts of a night tell which run had requested an export that was adopted', () => {
  const month = madeUpMonth();
  const published = month.published.map((run) => {
    const made = { ...run.manifest.run, adopted: 'failed-before' };
    return { ...run, manifest: { ...run.manifest, run: made } };
  });
  const facts = (document: ReturnType<typeof pageOf>) => document.getElementById(`leads-${NIGHT}`)?.textContent ?? '';
  expect(facts(pageOf({ ...month, published }))).toMatch(/Export created\S+ \S+ UTC, by failed-before/);
  expect(facts(pageOf(month))).not.toContain(', by ');
});

test('the facts of a night tell which runs verify has made', () => {
  const month = madeUpMonth({ failed: ['leads'] });
  const execution = 'verify-20261120T020000Z-1a2b3c-0';
  const published = month.published.map((run) => {
    return { ...run, manifest: { ...run.manifest, execution: `${run.manifest.run.entity}-${execution}` } };
  });
  const attempts = month.attempts.map((one) => ({ ...one, byVerify: true }));
  const page = pageOf({ ...month, published, attempts });
  const facts = (entity: string) => page.getElementById(`${entity}-${NIGHT}`)?.textContent ?? '';

  expect(facts('contacts')).toContain(`contacts-${execution}, made by verify`);
  expect(facts('leads')).toContain('ReauthorizationRequired, by verify');
});

test('tables have captions and headings, and each drawing has a name', () => {
  const document = pageOf(madeUpMonth());
  const tables = [...document.querySelectorAll('table')];
  expect(tables).toHaveLength(2);
  for (const table of tables) {
    expect(table.querySelector('caption')?.textContent).not.toBe('');
    expect(table.querySelectorAll('tbody tr').length).toBe(table.querySelectorAll('tbody th[scope=row]').length);
    expect(table.querySelectorAll('thead th[scope=col]').length).toBeGreaterThan(5);
  }
  const drawings = [...document.querySelectorAll('svg')];
  expect(drawings).toHaveLength(2 * ENTITIES.length);
  for (const svg of drawings) expect(svg.getAttribute('aria-label')).toMatch(/^(Rows|Bytes) of [a-z-]+ by night: /);
  expect(document.querySelectorAll('svg path[d]').length).toBeGreaterThan(2 * ENTITIES.length);
});

test.each([1, 2, 3, 30, 90])('no label of a drawing is clipped, with %d nights', (nights) => {
  const month = madeUpMonth();
  // The widest labels, such as `100.0 MB`.
  const published = month.published.map((run) => ({
    ...run,
    manifest: { ...run.manifest, file: { ...run.manifest.file, bytes: 98_765_432 } },
  }));
  const [first, ...others] = pageOf({ ...month, nights, published }).querySelectorAll('svg');
  for (const svg of [first, ...others]) {
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

test('the policy of the page knows its style by its hash, and allows nothing else', () => {
  const document = pageOf(madeUpMonth());
  const policy = document.querySelector('meta[http-equiv=Content-Security-Policy]')?.getAttribute('content') ?? '';
  const style = document.querySelector('style')?.textContent ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(policy).toBe(`default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`);
  expect(document.querySelectorAll('[style], [src], [onclick], link, img, iframe, script')).toHaveLength(0);
  for (const link of document.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^#/);
});

test('whatever a manifest or an error says stays text', () => {
  const hostile =
    '</dialog></script><script>alert(1)</script><img src=x onerror=alert(2)>"\' onfocus=alert(3) \u202e&amp;';
  const month = madeUpMonth({ failed: ['leads'] });
  const published = month.published.map(({ manifestKey, manifest }) => ({
    manifestKey: `${manifestKey}${hostile}`,
    manifest: {
      ...manifest,
      execution: hostile,
      softwareVersion: hostile,
      warnings: [hostile],
      file: { ...manifest.file, key: hostile, contentType: hostile, crc32: hostile, header: [hostile] },
      run: { ...manifest.run, exportId: hostile },
    },
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
