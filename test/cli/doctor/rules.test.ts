import { expect, test } from 'vitest';
import { rulesCheck } from '../../../cli/doctor/rules.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import type { Part } from '../support/cloud/world.ts';

const crm = { baseUrl: 'https://crm.example.com', authUrl: 'https://auth.example.com' };
const resume = (entities: Entity[]) => `RESUME ${entities.join(' ')}`;
const all = Object.fromEntries(ENTITIES.map((entity) => [entity, { enabled: false }]));

/** What is said of rules that are switched off in the account, and of entities that the configuration switches off. */
async function check(paused: Entity[], entities?: object, ...refusals: Part[]) {
  const { target } = await aws(...refusals, rules({ paused }));
  return rulesCheck(target, entities && deploymentSchema.parse({ crm, entities }), resume);
}

test('a rule that is switched off in the account is named, with the command that switches it on', async () => {
  expect(await check(['leads', 'meetings'], { meetings: { enabled: false } })).toMatchObject({
    status: 'warning',
    text: `${ENTITIES.length - 2} of ${ENTITIES.length} entities are exported every night; switched off: leads, meetings. The configuration wants leads.`,
    advice: 'If these nights are wanted: RESUME leads',
  });
  expect(await check(['leads'])).toMatchObject({
    status: 'warning',
    advice: 'If these nights are wanted: RESUME leads',
  });
});

test('rules that are as the configuration says are fine, unless that switches off all of them', async () => {
  expect(await check([], {})).toMatchObject({
    status: 'ok',
    text: `All ${ENTITIES.length} entities are exported every night.`,
  });
  expect(await check(['leads'], { leads: { enabled: false } })).toMatchObject({
    status: 'ok',
    text: `${ENTITIES.length - 1} of ${ENTITIES.length} entities are exported every night; switched off: leads.`,
  });
  expect(await check([...ENTITIES], all)).toMatchObject({
    status: 'warning',
    advice: expect.stringContaining('deploy'),
  });
});

test('a rule that runs though the configuration switches it off waits for a deploy', async () => {
  expect(await check([], { leads: { enabled: false } })).toMatchObject({
    status: 'ok',
    text: `All ${ENTITIES.length} entities are exported every night. The configuration switches off leads: not deployed yet.`,
  });
});

test('a right to look that is lacking fails no night', async () => {
  expect(await check([], {}, denied('ListRules'))).toMatchObject({
    ...{ status: 'warning', text: 'Which nightly rules are switched on could not be looked at.' },
    advice: expect.stringMatching(/^AWS denies access/),
  });
});
