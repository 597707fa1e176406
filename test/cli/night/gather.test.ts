import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { gatherFacts } from '../../../cli/night/gather.ts';
import { reportPage } from '../../../cli/report/page.ts';
import { reportDataOf } from '../../../cli/report/report-data.ts';
import { headlineOf } from '../../../cli/report/words.ts';
import { nightlyPlanOf } from '../../../cli/schedule/nightly-plan.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment, run, runState } from '../../support/builders.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';
import { rules } from '../support/cloud/rules.ts';

const NIGHT = '2026-11-20';

test('runs that were published, and whose files are gone, are shown as gone', async () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const start = '2026-11-20T01:00:00.000Z';
  const output = (date: string, keptUntil: string) =>
    JSON.stringify(runState({ run: run({ date, keptUntil }), outcome: 'PUBLISHED' }));
  const succeeded = { status: 'SUCCEEDED', start, stop: start };
  const cloud = await aws(
    executions([
      { name: 'gone', ...succeeded, input: { entity: 'leads' }, output: output(NIGHT, '2026-12-20') },
      { name: 'expired', ...succeeded, input: { entity: 'contacts' }, output: output(NIGHT, NIGHT) },
      { name: 'replaced', ...succeeded, input: { entity: 'customers' }, output: output(NIGHT, '2026-12-20') },
      { name: 'later', ...succeeded, input: { entity: 'meetings' }, stop: '2026-11-20T12:00:03.000Z' },
      { name: 'counts', ...succeeded, input: { entity: 'customers' } },
    ]),
  );
  cloud.publish({ entity: 'customers', execution: 'counts' });
  const wanted = { deployment: 'test', plan: nightlyPlanOf(deployment()), nights: 3, now, warn: () => undefined };
  const facts = await gatherFacts(cloud.target, wanted);
  expect(facts.attempts).toMatchObject([
    { run: 'gone', status: 'SUCCEEDED', outcome: 'gone', needsPerson: true },
    { run: 'later', status: 'RUNNING', outcome: 'running', needsPerson: false },
  ]);
  const data = reportDataOf(facts);
  expect(data.rows[0]?.last.outcome).toBe('gone');
  expect(headlineOf({ ...data, rows: data.rows.slice(0, 1) })).toMatchObject({
    tone: 'bad',
    text: 'Last night: 1 of 1 missing: leads',
  });
  expect(reportPage(data)).toContain('published, and gone');
  expect(parseHTML(reportPage(data)).document.getElementById(`leads-${NIGHT}`)?.textContent).toContain('no pointer');
});

test('runs that count are not looked up one by one', async () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const start = '2026-11-20T01:00:00.000Z';
  const names = ENTITIES.map((entity) => `rule-${entity}`);
  const common = { status: 'SUCCEEDED', input: {}, start, stop: start };
  const cloud = await aws(executions(names.map((name) => ({ name, ...common }))));
  for (const entity of ENTITIES) cloud.publish({ entity, execution: `rule-${entity}` });
  const wanted = { deployment: 'test', plan: nightlyPlanOf(deployment()), nights: 3, now, warn: () => undefined };
  expect((await gatherFacts(cloud.target, wanted)).published).toHaveLength(ENTITIES.length);
  expect(cloud.asked).not.toContain('DescribeExecution');
});

test('an object that cannot be read costs its own cell, not the page', async () => {
  const cloud = await aws();
  for (const date of ['2026-11-17', '2026-11-18', '2026-11-19', NIGHT])
    cloud.publish({ date, execution: `run-${date}` });
  cloud.objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('no JSON'));
  cloud.objects.set('runs/entity=leads/run=run-2026-11-19/_manifest.json', Buffer.from('{"schemaVersion":9}'));
  const told: string[] = [];
  const wanted = {
    deployment: 'test',
    plan: nightlyPlanOf(deployment()),
    nights: 5,
    now: new Date('2026-11-20T12:00:00Z'),
  };
  const facts = await gatherFacts(cloud.target, { ...wanted, warn: (line) => void told.push(line) });
  expect(facts.published.map(({ manifest }) => manifest.date)).toEqual(['2026-11-17', NIGHT]);
  expect(told.sort()).toEqual([
    expect.stringMatching(/^The object published\/entity=leads\/date=2026-11-18\.json does not hold/),
    expect.stringMatching(/^The object runs\/entity=leads\/run=run-2026-11-19\/_manifest\.json does not hold/),
  ]);
});

test('facts are gathered from pointers, failed runs and rules; superseded runs do not count', async () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const start = '2026-11-20T01:21:00.000Z';
  const failure = { status: 'FAILED', input: { entity: 'contacts', scheduledFor: start }, start, stop: start };
  const cloud = await aws(
    rules({ paused: ['meetings'], gone: ['leads'] }),
    executions([{ name: 'rule-1', ...failure, error: 'RateLimited', cause: 'Too many.' }]),
  );
  cloud.publish({ execution: 'first' });
  const counting = cloud.publish({ execution: 'second' });
  cloud.publish({ date: '2026-09-01', execution: 'old', pointers: ['date'] });
  const said: string[] = [];
  const wanted = {
    deployment: 'test',
    plan: nightlyPlanOf(deployment()),
    nights: 30,
    now,
    warn: (line: string) => said.push(line),
  };
  const facts = await gatherFacts(cloud.target, wanted);
  expect(facts.published.map(({ manifest }) => manifest)).toEqual([counting]);
  expect(facts.attempts).toMatchObject([
    { run: 'rule-1', entity: 'contacts', date: '2026-11-20', error: 'RateLimited' },
  ]);
  expect(facts).toMatchObject({ paused: ['meetings'], withoutRule: ['leads'] });
  expect(said).toEqual([]);
});

test('what may not be read is reported, and left out', async () => {
  const cloud = await aws(denied('ListExecutions', 'DescribeRule'));
  cloud.publish();
  cloud.objects.delete('runs/entity=leads/run=leads-night/_manifest.json');
  const said: string[] = [];
  const plan = {
    ...nightlyPlanOf(deployment()),
    enabled: { ...nightlyPlanOf(deployment()).enabled, employers: false },
  };
  const now = new Date('2026-11-20T12:00:00Z');
  const facts = await gatherFacts(cloud.target, {
    deployment: 'test',
    plan,
    nights: 3,
    now,
    warn: (line) => said.push(line),
  });
  expect(facts).toMatchObject({ published: [], attempts: [], paused: ['employers'], withoutRule: [] });
  expect(said.sort()).toEqual([
    expect.stringMatching(/^Runs that failed are not shown: .*AccessDenied/),
    'The pointer to the leads of 2026-11-20 names a manifest that is gone.',
    expect.stringMatching(/^Whether rules are paused is taken from the configuration/),
  ]);
});
