import { expect, test } from 'vitest';
import { gatherFacts } from '../../../cli/night/night-facts.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { recordedNight } from '../../support/recorded-night.ts';
import { expectTexts } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';
import { rules } from '../support/cloud/rules.ts';

const NIGHT = '2026-11-20';

/** The facts of a deployment without a grant at noon after that night, and the warnings. */
async function factsOf({ target }: Awaited<ReturnType<typeof awsWithTarget>>, nights: number) {
  const warnings: string[] = [];
  const wanted = { deployment: 'test', nights, now: new Date(`${NIGHT}T12:00:00Z`) };
  const facts = await gatherFacts(target, { ...wanted, warn: (sentence) => void warnings.push(sentence) });
  return { facts, warnings };
}

test('takes the files of a recorded night from its record, without reading the pointers of dates', async () => {
  const cloud = await awsWithTarget();
  const [key, night] = recordedNight(NIGHT, ['leads']);
  cloud.objects.set(key, Buffer.from(night));
  for (const entity of ENTITIES) cloud.publish({ entity, execution: `${entity}-${NIGHT}`, pointers: ['date'] });

  const { facts } = await factsOf(cloud, 3);

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

  const { facts, warnings } = await factsOf(cloud, 5);

  expect(facts.published.map(({ run }) => run.date).sort()).toEqual(['2026-11-17', NIGHT]);
  await expectTexts('facts-left-out', [['three objects and the grant', warnings.sort().join('\n')]]);
});

test('without a record, uses pointers, failed runs and rules, and ignores superseded runs', async () => {
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

  const { facts, warnings } = await factsOf(cloud, 30);

  expect(facts.published).toEqual([counting]);
  expect(facts.attempts).toMatchObject([{ run: 'rule-1', entity: 'contacts', date: NIGHT, error: 'RateLimited' }]);
  expect(facts.rules).toMatchObject({ meetings: 'paused', leads: 'withoutRule', contacts: 'on' });
  // The grant alone.
  expect(warnings).toHaveLength(1);
});
