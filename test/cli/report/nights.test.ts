import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { nightsOf } from '../../../cli/night/night.ts';
import type { Attempt, Facts } from '../../../cli/night/night-facts.ts';
import { reportPage } from '../../../cli/report/night-report.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import type { Night } from '../../../core/night/night-record.ts';
import { madeUpMonth } from '../../../scripts/made-up-month.ts';
import { deployment } from '../../support/builders.ts';
import { recordedNight } from '../../support/recorded-night.ts';
import { expectTexts } from '../../support/screen.ts';
import { aRun } from '../support/a-run.ts';

const NIGHT = '2026-11-20';
const month = madeUpMonth();
const recordOf = (...night: Parameters<typeof recordedNight>): Night => JSON.parse(recordedNight(...night)[1]);
/** An export of leads, by default. */
const failed = (more: Partial<Attempt>): Attempt => ({
  ...{ ...aRun(), entity: 'leads', date: NIGHT, outcome: 'failed', status: 'FAILED', error: 'ExportFailed' },
  ...more,
});
const publishedIf = (wanted: (entity: Entity, date: string) => boolean) =>
  month.published.filter(({ run }) => wanted(run.entity, run.date));

/** At 01:20 leads are published, agent numbers have begun, and the others are due at 01:14 and later. */
const midNight = { ...month, now: new Date(`${NIGHT}T01:20:00Z`) };
const begun = { entity: 'agent-numbers', startedAt: `${NIGHT}T01:07:00Z` } as const;
const leadsAlone = publishedIf((entity, date) => date < NIGHT || entity === 'leads');
/** Starts before midnight, for two entities, and after it. */
const overMidnight = { ...month, configured: deployment({ nightly: { at: '23:50', spreadMinutes: 7 } }), attempts: [] };
const dateOver = (entity: Entity) => (['leads', 'agent-numbers'].includes(entity) ? '2026-11-19' : NIGHT);
/** Hours after the deployment, a person has exported leads. */
const young = {
  ...{ ...month, newest: {}, attempts: [], deployedAt: new Date(`${NIGHT}T06:00:00Z`) },
  published: publishedIf((entity, date) => date === NIGHT && entity === 'leads'),
  recorded: [
    recordOf(
      NIGHT,
      ENTITIES.filter((entity) => entity !== 'leads'),
    ),
  ],
  now: new Date(`${NIGHT}T07:00:00Z`),
};

const NIGHTS: [what: string, facts: Facts][] = [
  [
    'some runs of the night are not due yet',
    {
      ...madeUpMonth({ missing: ['meetings'] }),
      ...{ now: new Date(`${NIGHT}T01:01:00Z`), recorded: [recordOf(NIGHT, ['meetings'])] },
    },
  ],
  [
    'in the middle of a night, one entity has failed',
    { ...midNight, published: leadsAlone, attempts: [failed(begun)] },
  ],
  [
    'a night over midnight, without leads',
    {
      ...overMidnight,
      published: publishedIf((entity, date) => (entity === 'leads' ? date < '2026-11-19' : date <= dateOver(entity))),
    },
  ],
  ['a newer run has failed', { ...month, attempts: [failed({ startedAt: `${NIGHT}T05:00:00.000Z` })] }],
  ['no run', { ...month, published: [], attempts: [] }],
  ['before the first night', young],
  ['before the first night, with every entity', { ...young, published: month.published }],
  [
    'before the first night, with every rule paused',
    { ...young, rules: Object.fromEntries(ENTITIES.map((entity) => [entity, 'paused'])) as Facts['rules'] },
  ],
  [
    'only failures of others are known',
    { ...month, published: [], attempts: [failed({ startedAt: `${NIGHT}T01:00:00.000Z` })] },
  ],
];

/** The text of the page about the last night. All nights are judged; drawing only the last ones saves most of the time. */
function lastNightText(facts: Facts): string {
  const judged = nightsOf(facts);
  const rows = judged.rows.map((row) => ({ ...row, cells: row.cells.slice(-2) }));
  const { document } = parseHTML(reportPage({ ...judged, rows, dates: judged.dates.slice(-2) }));
  const ids = new Set([...document.querySelectorAll('[id]')].map(({ id }) => id));
  const targets = [...document.querySelectorAll('[popovertarget]')].map((each) => each.getAttribute('popovertarget'));
  expect(targets.filter((id) => !ids.has(id ?? ''))).toEqual([]);
  const textOf = (element: { textContent: string | null } | null) => element?.textContent?.replace(/\s+/g, ' ').trim();
  const headline = document.querySelector('h1');
  const whole = [...document.querySelectorAll('.grid tbody tr')].find((row) => /^whole night/.test(textOf(row) ?? ''));
  return [
    `${headline?.className}: ${textOf(headline)}`,
    textOf(document.querySelector('header p')),
    textOf(document.querySelector('h2')),
    ...[...document.querySelectorAll('#last-night ~ .scroll tbody tr')].map((row) =>
      [...row.querySelectorAll('th, td')].slice(0, 2).map(textOf).join(' | '),
    ),
    ...(whole ? [`whole night: ${whole.querySelector('td:last-child span')?.className}`] : []),
  ].join('\n');
}

test('the report answers whether the last night worked, at any time of any night', async () => {
  await expectTexts(
    'nights',
    NIGHTS.map(([what, facts]) => [what, lastNightText(facts)]),
  );
});

test('shows no missing nights between an early date that was filled later and the first night', () => {
  const published = publishedIf((_, date) => date >= '2026-11-19');
  const [leads] = published.map((one) => ({ ...one, run: { ...one.run, date: '2026-11-01' } }));
  const facts = { ...month, published: [...published, ...(leads ? [leads] : [])], attempts: [] };

  const outcomes = nightsOf(facts).rows.flatMap((row) => row.cells.map(({ outcome }) => outcome));

  expect(outcomes).not.toContain('notStarted');
  expect(outcomes.filter((outcome) => outcome === 'published')).toHaveLength(2 * ENTITIES.length + 1);
});
