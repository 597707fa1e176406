import { expect, test } from 'vitest';
import { adviceLines, completed } from '../../../cli/checks/completed.ts';
import { ERRORS } from '../../../core/errors.ts';

const PLACE = { deployment: 'prod', profile: 'exports', region: 'eu-central-1' };
const OURS = '--profile exports --region eu-central-1 --deployment prod';

test.each([
  ['Authorize again: npm run cli -- authorize.', `Authorize again: npm run cli -- authorize ${OURS}.`],
  [
    'npm run cli -- start leads; npm run cli -- list',
    `npm run cli -- start leads ${OURS}; npm run cli -- list ${OURS}`,
  ],
  [`To go on: npm run cli -- show x ${OURS}.`, `To go on: npm run cli -- show x ${OURS}.`],
  [
    'Deploy: npx cdk deploy --revert-drift.',
    'Deploy: npx cdk deploy -c deployment=prod --revert-drift --profile exports --region eu-central-1.',
  ],
  ['npx cdk deploy -c deployment=prod', 'npx cdk deploy -c deployment=prod'],
  ['aws sns subscribe --topic-arn a:b.', 'aws sns subscribe --topic-arn a:b --profile exports --region eu-central-1.'],
  ['Check --deployment, then npm run cli -- list.', `Check --deployment, then npm run cli -- list ${OURS}.`],
  ['Set the clock of this machine.', 'Set the clock of this machine.'],
])('commands in "%s" get the options that were given', (text, whole) => {
  expect(completed(text, PLACE)).toBe(whole);
});

test('options that were not given are not invented, and values are quoted', () => {
  expect(completed('npx cdk deploy', { deployment: 'prod' })).toBe('npx cdk deploy -c deployment=prod');
  expect(completed('npm run cli -- list', { deployment: 'prod', profile: 'a b' })).toBe(
    "npm run cli -- list --profile 'a b' --deployment prod",
  );
});

test('each command has a line of its own, with nothing else on it', () => {
  const url = '--endpoint-url http://127.0.0.1:4566 --deployment test';

  expect(adviceLines(`Authorize again: npm run cli -- authorize ${url}. No export runs until then.`)).toEqual([
    'Authorize again:',
    `npm run cli -- authorize ${url}`,
    'No export runs until then.',
  ]);
  expect(adviceLines('restore it: npx cdk deploy --revert-drift.')).toEqual([
    'Restore it:',
    'npx cdk deploy --revert-drift',
  ]);
  expect(adviceLines('npm run cli -- release x --reason "…"')).toEqual(['npm run cli -- release x --reason "…"']);
  expect(adviceLines('Look again in a minute.')).toEqual(['Look again in a minute.']);
});

test.each(Object.entries(ERRORS))('a command in the advice of %s ends where its sentence does', (_, { advice }) => {
  const commands = adviceLines(advice).filter((line) => /^(npm run|npx|aws) /.test(line));

  // Behind the command only placeholders, options, and values.
  for (const command of commands)
    expect(command).toMatch(/^(npm run cli -- [a-z-]+|npx cdk deploy)( (--[a-z-]+|[A-Z]+))*$/);
});
