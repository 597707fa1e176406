import { expect, test } from 'vitest';
import { rulesFinding } from '../../../cli/health/night-checks.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import type { Part } from '../support/cloud/world.ts';

/** The finding about the rules of a deployment, whose other settings have their defaults. */
async function found(entities: object, ...parts: Part[]) {
  const { target } = await awsWithTarget(...parts);
  return rulesFinding(target, deployment({ entities }));
}

const OFF = { enabled: false };
const RESUME = 'To switch these rules on: npx --no -- crm-export resume leads meetings';
const RESTORE = expect.stringContaining('npx cdk deploy --revert-drift');
const ALL_OFF = Object.fromEntries(ENTITIES.map((entity) => [entity, OFF]));

test.each<[string, object, Part, object]>([
  ['as they were deployed hold', {}, rules(), { verdict: 'holds', found: 'All 7 entities are exported every night' }],
  [
    'of an entity that is deployed as off hold',
    { leads: OFF },
    rules({ paused: ['leads'] }),
    { verdict: 'holds', found: '6 of 7 entities are exported every night; switched off: leads' },
  ],
  [
    'of entities that are all deployed as off are a warning',
    ALL_OFF,
    rules({ paused: [...ENTITIES] }),
    {
      verdict: 'warning',
      advice: expect.stringMatching(/ set entities\.NAME\.enabled in the configuration and deploy/),
    },
  ],
  [
    'that a person paused are named, with the command that switches them on',
    {},
    rules({ paused: ['leads', 'meetings'] }),
    {
      verdict: 'broken',
      found: '5 of 7 entities are exported every night; paused: leads, meetings',
      advice: RESUME,
    },
  ],
  [
    'that are missing are named, with the command that restores them',
    {},
    rules({ gone: ['leads'] }),
    {
      verdict: 'broken',
      found: expect.stringContaining('6 of 7 entities are exported every night; without a rule: leads'),
      advice: RESTORE,
    },
  ],
  [
    'that start at another time are broken',
    {},
    { DescribeRule: { State: 'ENABLED', ScheduleExpression: 'rate(1 day)' } },
    { verdict: 'broken', found: expect.stringMatching(/^0 of 7 .*; rule changed: leads, /), advice: RESTORE },
  ],
  [
    'that start something else, without the queue, are broken',
    {},
    { ListTargetsByRule: { Targets: [{ Id: '1', Arn: 'arn:other' }] } },
    {
      verdict: 'broken',
      found: expect.stringContaining(
        'the rule of leads does not have the state machine as its only target; the rule of leads lacks its queue',
      ),
      advice: RESTORE,
    },
  ],
  [
    'that are on, and deployed as off, are broken',
    { leads: OFF },
    rules(),
    {
      verdict: 'broken',
      found: expect.stringMatching(/^6 of 7 .*; the rule of leads is on, but was deployed as off$/),
      advice: RESTORE,
    },
  ],
])('rules %s', async (_, entities, part, finding) => {
  expect(await found(entities, part)).toMatchObject(finding);
});
