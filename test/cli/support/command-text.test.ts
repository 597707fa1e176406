import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { adviceLines, withPlace } from '../../../cli/support/command-text.ts';
import { ERRORS } from '../../../core/errors.ts';
import { expectTexts } from '../../support/screen.ts';

const PLACE = { deployment: 'prod', profile: 'exports', region: 'eu-central-1' };
const LOCAL = { deployment: 'test', endpointUrl: 'http://127.0.0.1:4566' };

const WHOLE = withPlace('npx --no -- crm-export show x', PLACE);

/** Texts with commands, and the options of the person. */
const TEXTS: [text: string, place?: Parameters<typeof withPlace>[1]][] = [
  ['Authorize again: npx --no -- crm-export authorize.'],
  ['npx --no -- crm-export start leads; npx --no -- crm-export list'],
  [`To continue: ${WHOLE}.`],
  ['Deploy: npx cdk deploy --revert-drift.'],
  ['Write them anew: npx cdk deploy -c rewrite=policies; a person needs another right.'],
  ['npx cdk deploy -c deployment=prod'],
  ['aws sns subscribe --topic-arn a:b.'],
  ['Check --deployment, then npx --no -- crm-export list.'],
  ['Set the clock of this machine.'],
  ['npx cdk deploy', { deployment: 'prod' }],
  ['npx --no -- crm-export list', { deployment: 'prod', profile: 'a b' }],
  // Without its endpoint, a command for a local cloud would reach the account of the person.
  ['Restore it: npx cdk deploy --revert-drift.', LOCAL],
  ['aws sns publish --topic-arn a.', LOCAL],
];

test('completes the commands in a text with the options of the person, quoted, and adds no other option', async () => {
  await expectTexts(
    'completed-commands',
    TEXTS.map(([text, place = PLACE]) => [text, withPlace(text, place)]),
  );
});

test.each(["o'neil, inc. (eu); x", 'a.b. c, d'])('adds the value %s once, in one command', (profile) => {
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
});

test.each(Object.entries(ERRORS))('each command in the advice of %s ends where its sentence ends', (_, { advice }) => {
  const commands = adviceLines(advice).filter((line) => /^(npm run|npx|aws) /.test(line));

  // Only placeholders, options, and values may follow the command.
  const [program, rest] = [
    /^(npx --no -- crm-export [a-z-]+|npx cdk deploy)/,
    /^( (--[a-z-]+|-c rewrite=policies|[A-Z]+))*$/,
  ];
  for (const command of commands) {
    expect(command).toMatch(program);
    expect(command.replace(program, '')).toMatch(rest);
  }
});
