import { test } from 'vitest';
import { rulesFinding } from '../../../cli/health/night-checks.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import type { Part } from '../support/cloud/world.ts';
import { expectFindings } from '../support/findings.ts';

/** The finding about the rules of a deployment, whose other settings have their defaults. */
async function found(entities: object, ...parts: Part[]) {
  const { target } = await awsWithTarget(...parts);
  return rulesFinding(target, deployment({ entities }));
}

const OFF = { enabled: false };
const ALL_OFF = Object.fromEntries(ENTITIES.map((entity) => [entity, OFF]));
const other = { DescribeRule: { State: 'ENABLED', ScheduleExpression: 'rate(1 day)' } };

const ROWS: [string, object, Part][] = [
  ['as they were deployed', {}, rules()],
  ['of an entity that is deployed as off', { leads: OFF }, rules({ paused: ['leads'] })],
  ['of entities that are all deployed as off', ALL_OFF, rules({ paused: [...ENTITIES] })],
  ['that a person paused', {}, rules({ paused: ['leads', 'meetings'] })],
  ['that are missing', {}, rules({ gone: ['leads'] })],
  ['that start at another time', {}, other],
  [
    'that start something else, without the queue',
    {},
    { ListTargetsByRule: { Targets: [{ Id: '1', Arn: 'arn:other' }] } },
  ],
  ['that are on, and deployed as off', { leads: OFF }, rules()],
];

test('nightly rules that a person changed are broken, with what restores them', async () => {
  const findings = ROWS.map(async ([what, entities, part]) => [what, await found(entities, part)] as const);

  await expectFindings('rule-findings', await Promise.all(findings));
});
