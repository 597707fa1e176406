import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { adviceLines, withPlace } from '../../../cli/support/command-text.ts';
import { ERRORS } from '../../../core/errors.ts';

const PLACE = { deployment: 'prod', profile: 'exports', region: 'eu-central-1' };
const OURS = '--profile exports --region eu-central-1 --deployment prod';

test.each([
  ['Authorize again: npx --no -- crm-export authorize.', `Authorize again: npx --no -- crm-export authorize ${OURS}.`],
  [
    'npx --no -- crm-export start leads; npx --no -- crm-export list',
    `npx --no -- crm-export start leads ${OURS}; npx --no -- crm-export list ${OURS}`,
  ],
  [`To continue: npx --no -- crm-export show x ${OURS}.`, `To continue: npx --no -- crm-export show x ${OURS}.`],
  [
    'Deploy: npx cdk deploy --revert-drift.',
    'Deploy: npx cdk deploy -c deployment=prod --revert-drift --profile exports --region eu-central-1.',
  ],
  [
    'Write them anew: npx cdk deploy -c rewrite=policies; a person needs another right.',
    'Write them anew: npx cdk deploy -c deployment=prod -c rewrite=policies --profile exports --region eu-central-1; a person needs another right.',
  ],
  ['npx cdk deploy -c deployment=prod', 'npx cdk deploy -c deployment=prod'],
  ['aws sns subscribe --topic-arn a:b.', 'aws sns subscribe --topic-arn a:b --profile exports --region eu-central-1.'],
  [
    'Check --deployment, then npx --no -- crm-export list.',
    `Check --deployment, then npx --no -- crm-export list ${OURS}.`,
  ],
  ['Set the clock of this machine.', 'Set the clock of this machine.'],
])('completes the commands in "%s" with the options of the person', (text, whole) => {
  expect(withPlace(text, PLACE)).toBe(whole);
});

test('adds no option that was not given, and quotes values', () => {
  expect(withPlace('npx cdk deploy', { deployment: 'prod' })).toBe('npx cdk deploy -c deployment=prod');
  expect(withPlace('npx --no -- crm-export list', { deployment: 'prod', profile: 'a b' })).toBe(
    "npx --no -- crm-export list --profile 'a b' --deployment prod",
  );
});

test.each(["o'neil, inc. (eu); x", 'a.b. c, d'])(
  'a value with any characters (%s) is added once, and its command stays in one piece',
  (profile) => {
    const once = withPlace('Authorize again: npx --no -- crm-export authorize. Else: aws sns publish --topic-arn a.', {
      ...PLACE,
      profile,
    });

    expect(withPlace(once, { ...PLACE, profile })).toBe(once);
    const shell = (command: string) => execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' });
    const commands = adviceLines(once).filter((line) => /^(npx|aws) /.test(line));
    expect(commands.map((command) => shell(command).split('\n').at(6))).toEqual([profile, profile]);
    const released = 'npx --no -- crm-export release x --reason "Holidays. All of them, fine." --deployment prod';
    expect(adviceLines(`${released}.`)).toEqual([released]);
  },
);

test('a command for a local cloud gets its endpoint, so that it does not reach the account of the person', () => {
  const local = { deployment: 'test', endpointUrl: 'http://127.0.0.1:4566' };

  expect(adviceLines(withPlace('Restore it: npx cdk deploy --revert-drift.', local))).toEqual([
    'Restore it:',
    'AWS_ENDPOINT_URL=http://127.0.0.1:4566 npx cdk deploy -c deployment=test --revert-drift',
  ]);
  expect(withPlace('aws sns publish --topic-arn a.', local)).toBe(
    'aws sns publish --topic-arn a --endpoint-url http://127.0.0.1:4566.',
  );
});

test('adviceLines puts each command on its own line', () => {
  const url = '--endpoint-url http://127.0.0.1:4566 --deployment test';

  expect(adviceLines(`Authorize again: npx --no -- crm-export authorize ${url}. No export runs until then.`)).toEqual([
    'Authorize again:',
    `npx --no -- crm-export authorize ${url}`,
    'No export runs until then.',
  ]);
  expect(adviceLines('restore it: npx cdk deploy --revert-drift.')).toEqual([
    'Restore it:',
    'npx cdk deploy --revert-drift',
  ]);
  expect(adviceLines('npx --no -- crm-export release x --reason WHY')).toEqual([
    'npx --no -- crm-export release x --reason WHY',
  ]);
  expect(adviceLines('Run the command again in a minute.')).toEqual(['Run the command again in a minute.']);
});

test.each(Object.entries(ERRORS))('each command in the advice of %s ends where its sentence ends', (_, { advice }) => {
  const commands = adviceLines(advice).filter((line) => /^(npm run|npx|aws) /.test(line));

  // Only placeholders, options, and values may follow the command.
  for (const command of commands)
    expect(command).toMatch(
      /^(npx --no -- crm-export [a-z-]+|npx cdk deploy)( (--[a-z-]+|-c rewrite=policies|[A-Z]+))*$/,
    );
});
