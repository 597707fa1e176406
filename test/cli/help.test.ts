import { expect, test } from 'vitest';
import { createProgram } from '../../cli/program.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import { helpOf, isAccepted } from './support/is-accepted.ts';

/** The commands of the program, except `help` and the one that only shells call. */
const commands = (await createProgram(['completion'])).commands.filter(
  (command) => !['complete', 'help'].includes(command.name()),
);

/** The texts after `npx --no -- crm-export ` in the examples of a help, up to a pipe. */
function examplesOf(help: string): string[] {
  const [, examples = ''] = help.split('\nExamples:\n');
  return [...examples.matchAll(/^ {2}npx --no -- crm-export (.+)$/gm)].map(([, line = '']) =>
    line.replace(/ [|>].*$/, ''),
  );
}

test.for(commands.map((command) => [command.name(), command] as const))(
  '%s has a help with examples',
  ([name, command]) => {
    const help = helpOf(command);
    const examples = examplesOf(help);
    expect(help).toMatch(new RegExp(`^Usage: ${CRM_EXPORT} ${name} `));
    expect(command.description()).not.toBe('');
    expect(examples.length).toBeGreaterThanOrEqual(2);
    for (const example of examples) expect(example).toMatch(new RegExp(`^${name} `));
    if (name === 'completion') return;
    for (const option of ['--deployment <name>', '--profile', '--region', '--endpoint-url']) {
      expect(help).toContain(option);
    }
  },
);

test.for(commands.flatMap((command) => examplesOf(helpOf(command))))('the example "%s" is valid', async (example) => {
  expect(await isAccepted(example.split(' '))).toBe(true);
});
