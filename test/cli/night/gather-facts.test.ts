import { expect, test } from 'vitest';
import { gatherFacts } from '../../../cli/night/night-facts.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { recordedNight } from '../../support/recorded-night.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';
import { rules } from '../support/cloud/rules.ts';

const NIGHT = '2026-11-20';
/** These deployments have no grant. */
const NO_GRANT = expect.stringMatching(/^Whether the grant can be used is unknown/);

test('takes the files of a recorded night from its record, without reading the pointers of dates', async () => {
  const cloud = await awsWithTarget();
  const [key, night] = recordedNight(NIGHT, ['leads']);
  cloud.objects.set(key, Buffer.from(night));
  for (const entity of ENTITIES) cloud.publish({ entity, execution: `${entity}-${NIGHT}`, pointers: [] });
  const now = new Date('2026-11-20T12:00:00Z');
  const wanted = { deployment: 'test', nights: 3, now, warn: () => undefined };

  const facts = await gatherFacts(cloud.target, wanted);

  expect(facts.published.map(({ run }) => run.entity).sort()).toEqual(ENTITIES.slice(1).sort());
  expect(facts.recorded.map(({ date, complete }) => [date, complete])).toEqual([[NIGHT, false]]);
  expect(cloud.asked.filter((line) => /entity=.*date=/.test(line))).toEqual([]);
});

test('leaves out an object that cannot be read, and warns of it', async () => {
  const cloud = await awsWithTarget();
  for (const date of ['2026-11-17', '2026-11-18', '2026-11-19', NIGHT])
    cloud.publish({ date, execution: `run-${date}` });
  cloud.objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('no JSON'));
  cloud.objects.set('runs/entity=leads/run=run-2026-11-19/_manifest.json', Buffer.from('{"schemaVersion":9}'));
  cloud.publish({ entity: 'contacts', execution: 'gone' });
  cloud.objects.delete('runs/entity=contacts/run=gone/_manifest.json');
  const told: string[] = [];
  const wanted = {
    deployment: 'test',
    nights: 5,
    now: new Date('2026-11-20T12:00:00Z'),
  };
  const facts = await gatherFacts(cloud.target, { ...wanted, warn: (line) => void told.push(line) });
  expect(facts.published.map(({ run }) => run.date).sort()).toEqual(['2026-11-17', NIGHT]);
  expect(told.sort()).toEqual([
    'The manifest of a published file is missing: runs/entity=contacts/run=gone/_manifest.json.',
    expect.stringMatching(/^The object published\/entity=leads\/date=2026-11-18\.json has unexpected content/),
    expect.stringMatching(/^The object runs\/entity=leads\/run=run-2026-11-19\/_manifest\.json has unexpected content/),
    NO_GRANT,
  ]);
});

test('without a record, uses pointers, failed runs and rules, and ignores superseded runs', async () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const start = '2026-11-20T01:21:00.000Z';
  const failure = { status: 'FAILED', input: { entity: 'contacts', scheduledFor: start }, start, stop: start };
  const cloud = await awsWithTarget(
    rules({ paused: ['meetings'], gone: ['leads'] }),
    executions([{ name: 'rule-1', ...failure, error: 'RateLimited', cause: 'Too many.' }]),
  );
  cloud.publish({ execution: 'first' });
  const counting = cloud.publish({ execution: 'second' });
  cloud.publish({ entity: 'customers', execution: 'some', manifest: { kind: 'partial' }, pointers: ['date'] });
  cloud.publish({ date: '2026-09-01', execution: 'old', pointers: ['date'] });
  const said: string[] = [];
  const wanted = {
    deployment: 'test',
    nights: 30,
    now,
    warn: (line: string) => said.push(line),
  };
  const facts = await gatherFacts(cloud.target, wanted);
  expect(facts.published).toEqual([counting]);
  expect(facts.attempts).toMatchObject([
    { run: 'rule-1', entity: 'contacts', date: '2026-11-20', error: 'RateLimited' },
  ]);
  expect(facts.rules).toMatchObject({ meetings: 'paused', leads: 'withoutRule', contacts: 'on' });
  expect(said).toEqual([NO_GRANT]);
});
