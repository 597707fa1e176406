import { type Command, CommanderError } from 'commander';
import { createProgram, type Loaders } from './program.ts';
import { USAGE } from './support/exit.ts';
import { printErr, printJson } from './support/print.ts';
import type { TargetOptions } from './support/target.ts';

/** @returns the exit code */
export async function runCommandLine(loaders: Loaders, args: string[]): Promise<number> {
  let place: Partial<TargetOptions> = {};
  try {
    const program = await createProgram(loaders, args);
    program.hook('preAction', (_, command) => {
      place = command.opts();
    });
    await program.parseAsync(wordsFor(program, args), { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    const { sentence, code, documented } = await endOf(error, place);
    if (!(error instanceof CommanderError)) printErr(sentence);
    const document = { ok: false, error: sentence };
    if (code !== 0 && !documented && args.includes('--json')) printJson(document);
    return code;
  }
}

const HELP = ['help', '--help', '-h'];

/** For the help of an unknown command, commander prints the help of all and ends in 0. Without `--help` it refuses the command. */
function wordsFor(program: Command, args: string[]): string[] {
  const name = args.find((arg) => !arg.startsWith('-') && arg !== 'help');
  const isKnown = name === undefined || program.commands.some((command) => command.name() === name);
  return isKnown ? args : args.filter((arg) => !HELP.includes(arg));
}

/** Commander has printed its errors already, the help among them. */
async function endOf(error: unknown, { deployment, ...place }: Partial<TargetOptions>) {
  if (error instanceof CommanderError) {
    return { sentence: error.message, code: error.exitCode === 0 ? 0 : USAGE, documented: false };
  }
  const [{ ended }, { completed }] = await Promise.all([
    import('./support/aws-error.ts'),
    import('./support/completed.ts'),
  ]);
  const { sentence, ...end } = ended(error);
  return { ...end, sentence: deployment ? completed(sentence, { deployment, ...place }) : sentence };
}
