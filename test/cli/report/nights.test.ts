import { parseHTML } from 'linkedom';
import { describe, expect, test } from 'vitest';
import { type Nights, nightsOf } from '../../../cli/night/night.ts';
import type { Attempt, Facts } from '../../../cli/night/night-facts.ts';
import { reportPage } from '../../../cli/report/night-report.ts';
import { headlineOf, notesOf } from '../../../cli/report/night-words.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import type { Night } from '../../../core/night/night-record.ts';
import { madeUpMonth } from '../../../scripts/made-up-month.ts';
import { deployment } from '../../support/builders.ts';
import { recordedNight } from '../../support/recorded-night.ts';
import { aRun } from '../support/a-run.ts';

const NIGHT = '2026-11-20';
const ALL = ENTITIES.length;
const outcomes = (data: Nights, date = NIGHT) =>
  data.rows.flatMap(({ cells }) => cells.filter((cell) => cell.date === date).map(({ outcome }) => outcome));
const headline = (facts: Facts) => headlineOf(nightsOf(facts)).text;
const withSchedule = (entity: Entity, schedule: string, timeZone = 'UTC') =>
  deployment({ timeZone, entities: { [entity]: { schedule } } });
const pageOf = (facts: Facts) => parseHTML(reportPage(nightsOf(facts))).document;

test('shows an incomplete night as running while some of its runs are not due yet', () => {
  const now = new Date(`${NIGHT}T01:01:00Z`);
  const recorded = [recordOf(NIGHT, ['meetings'])];
  const row = pageOf({ ...madeUpMonth({ missing: ['meetings'] }), now, recorded }).querySelectorAll('.grid tbody tr');

  expect([...row].at(-1)?.querySelector('td:last-child span')?.className).toBe('cell running');
});

const recordOf = (...night: Parameters<typeof recordedNight>): Night => JSON.parse(recordedNight(...night)[1]);

const FAILED = { outcome: 'failed', status: 'FAILED', error: 'ExportFailed' } as const;
/** An export of leads, by default. */
const attemptOf = (more: Partial<Attempt>): Attempt => ({ ...aRun(), entity: 'leads', date: NIGHT, ...more });

describe('in the middle of a night', () => {
  /** At 01:20 leads are published, agent numbers are running, and the others are due at 01:14 and later. */
  const night = () => {
    const month = madeUpMonth();
    const published = month.published.filter(({ run }) => run.date < NIGHT || run.entity === 'leads');
    const running = { outcome: 'running', status: 'RUNNING', startedAt: `${NIGHT}T01:07:00Z` } as const;
    const attempts = [attemptOf({ entity: 'agent-numbers', ...running })];
    return { ...month, now: new Date(`${NIGHT}T01:20:00Z`), published, attempts };
  };
  const failed = () => {
    const { attempts, ...facts } = night();
    return { ...facts, attempts: attempts.map((one) => ({ ...one, ...FAILED })) };
  };

  test('shows an entity as due whose start is later, for any outcome of the night before', () => {
    const data = nightsOf(night());
    expect(outcomes(data)).toEqual(['published', 'running', ...Array(ALL - 2).fill('due')]);
    expect(data.rows.map(({ last }) => last.date)).toEqual(Array(ALL).fill(NIGHT));
    expect(headlineOf(data)).toEqual({
      tone: 'open',
      text: `This night so far: 1 of ${ALL} published, ${ALL - 1} still to come`,
    });
    expect(notesOf(data)).toEqual(['Friday 20 November 2026', expect.stringMatching(/^22,\d+ rows/)]);
  });

  test('shows a failed entity as failed, even if others are still due', () => {
    expect(headlineOf(nightsOf(failed()))).toMatchObject({
      tone: 'bad',
      text: `This night so far: 1 of ${ALL} failed: agent-numbers; 1 published, ${ALL - 2} still to come`,
    });
    const [section] = pageOf(failed()).querySelectorAll('section');
    expect(section?.querySelector('h2')?.textContent).toBe('This night');
    const rows = [...(section?.querySelectorAll('tbody tr') ?? [])].map((row) => row.textContent?.split('\n')[1]);
    expect(rows).toEqual([
      expect.stringContaining('✓ published'),
      expect.stringContaining('✕ ExportFailed'),
      ...Array(ALL - 2).fill(expect.stringContaining('◦ still to come')),
    ]);
  });

  test('shows one date in each row, even if starts are before and after midnight', () => {
    const month = madeUpMonth();
    const configured = withSchedule('leads', 'cron(0 20 * * ? *)');
    const data = nightsOf({ ...month, configured, attempts: [], now: new Date('2026-11-21T01:30:00Z') });
    expect(data.rows.map(({ last }) => `${last.date} ${last.outcome}`)).toEqual([
      `${NIGHT} published`,
      ...Array(ALL - 1).fill('2026-11-21 due'),
    ]);
    const heads = parseHTML(reportPage(data)).document.querySelectorAll('#last-night ~ .scroll tbody th');
    const names = ENTITIES.map((entity, index) => `${entity} ${index === 0 ? '20' : '21'} November`);
    expect([...heads].map((head) => head.textContent)).toEqual(names);
  });
});

test('counts a failure of last evening to last night, even if other entities run in the morning', () => {
  const month = madeUpMonth();
  const evening = withSchedule('leads', 'cron(0 20 * * ? *)');
  const published = month.published.filter(({ run }) => run.entity !== 'leads' || run.date < '2026-11-19');
  const attempts = [attemptOf({ ...FAILED, date: '2026-11-19', startedAt: '2026-11-19T20:00:01.000Z' })];
  const facts = { ...month, configured: evening, published, attempts };
  expect(headline(facts)).toBe(`Last night: 1 of ${ALL} missing: leads`);
  for (const nights of [1, 30]) {
    const document = pageOf({ ...facts, nights });
    const [row] = document.querySelectorAll('#last-night ~ .scroll tbody tr');
    expect(row?.textContent).toMatch(/^leads 19 November\s+✕ ExportFailed/);
    const facts19 = document.getElementById(row?.querySelector('button')?.getAttribute('popovertarget') ?? '');
    expect(facts19?.textContent).toContain('leads, Thursday 19 November 2026');
  }
});

test('counts starts before and after midnight as one night', () => {
  const month = madeUpMonth();
  const configured = deployment({ nightly: { at: '23:50', spreadMinutes: 7 } });
  const night = (entity: string) => (['leads', 'agent-numbers'].includes(entity) ? '2026-11-19' : NIGHT);
  const published = month.published.filter(({ run }) => run.date <= night(run.entity));
  expect(headline({ ...month, configured, published, attempts: [] })).toBe(`Last night: ${ALL} of ${ALL} published`);
  const one = published.filter(({ run }) => run.entity !== 'leads' || run.date < '2026-11-19');
  expect(headline({ ...month, configured, published: one, attempts: [] })).toBe(
    `Last night: 1 of ${ALL} missing: leads`,
  );
});

test('does not count a date without a start, as at a clock change, as missing', () => {
  const month = madeUpMonth();
  const configured = withSchedule('leads', 'cron(30 21 * * ? *)', 'Asia/Jerusalem');
  const startedAt = '2026-03-01T21:30:00.000Z';
  const published = month.published.slice(0, 1).map((manifest) => {
    const run = { ...manifest.run, entity: 'leads' as const, date: '2026-03-01' };
    return { ...manifest, startedAt, run };
  });
  const at = (date: string, now: string) =>
    outcomes(nightsOf({ ...month, configured, published, now: new Date(now) }), date)[0];
  expect(at('2026-03-26', '2026-03-30T12:00:00Z')).toBe('notStarted');
  expect(at('2026-03-27', '2026-03-30T12:00:00Z')).toBe('none');
  expect(at('2026-03-28', '2026-03-30T12:00:00Z')).toBe('notStarted');
  // Two starts: of 24 October, 21:30 UTC, and of 25 October.
  expect(at('2026-10-25', '2026-10-25T21:00:00Z')).toBe('notStarted');
});

test('shows no missing nights between an early date that was filled later and the first night', () => {
  const month = madeUpMonth();
  const first = (date: string) => month.published.filter(({ run }) => run.date === date);
  const [leads] = first('2026-11-19').map((run) => ({
    ...run,
    run: { ...run.run, date: '2026-11-01' },
  }));
  const facts = {
    ...month,
    published: [...first('2026-11-19'), ...first(NIGHT), ...(leads ? [leads] : [])],
    attempts: [],
  };
  const cells = nightsOf(facts).rows.flatMap((row) => row.cells);
  expect(cells.filter(({ outcome }) => outcome === 'notStarted')).toEqual([]);
  expect(cells.filter(({ outcome }) => outcome === 'published')).toHaveLength(2 * ALL + 1);
});

test('shows a published entity whose newest run failed in the words of status', () => {
  const attempts = [attemptOf({ ...FAILED, startedAt: `${NIGHT}T05:00:00.000Z` })];
  const page = pageOf({ ...madeUpMonth(), attempts });

  const row = page.querySelector('.list tbody tr.failed');
  expect(row?.querySelector('td')?.textContent?.trim()).toBe('✕ published; ExportFailed since');
});

test('renders a page for a deployment without any run', () => {
  const facts = { ...madeUpMonth(), published: [], attempts: [] };
  expect(headline(facts)).toBe('Nothing is due yet: there is no run');
  expect(reportPage(nightsOf(facts))).toContain('no data');
});

test('reports no incomplete night before the first night', () => {
  const month = madeUpMonth();
  const published = month.published.filter(({ run }) => run.date === NIGHT && run.entity === 'leads');
  const others = ENTITIES.filter((entity) => entity !== 'leads');
  const recorded = [recordOf(NIGHT, others)];
  const facts = { ...month, published, newest: {}, recorded, attempts: [], deployedAt: new Date(`${NIGHT}T06:00:00Z`) };
  const young = { ...facts, now: new Date(`${NIGHT}T07:00:00Z`) };

  expect(headline(young)).toBe('First night at 01:00 UTC on 2026-11-21; exported so far: leads');
  expect(headline({ ...young, published: month.published })).toBe(
    'First night at 01:00 UTC on 2026-11-21; exported so far: all entities',
  );
  expect(pageOf(young).querySelector('h1')?.className).toBe('good');
  expect(pageOf(young).querySelector('h2')?.textContent).toBe('So far');
  expect(notesOf(nightsOf(young)).join()).not.toContain('complete');
  expect(pageOf(young).querySelector('.grid')?.textContent).not.toContain('whole night');
  const paused = Object.fromEntries(ENTITIES.map((entity) => [entity, 'paused'])) as Facts['rules'];
  expect(headline({ ...young, rules: paused })).toBe('The next start is unknown; exported so far: leads');
});

test('counts entities as missing if only failures of others are known', () => {
  const facts = { ...madeUpMonth({ failed: ['leads'] }), published: [] };
  const attempts = facts.attempts.filter(({ date }) => date === NIGHT);
  expect(headline({ ...facts, attempts })).toMatch(
    new RegExp(`^Last night: ${ALL} of ${ALL} missing: leads, agent-numbers`),
  );
});
