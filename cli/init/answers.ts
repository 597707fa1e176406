import { createInterface } from 'node:readline';
import { InvalidArgumentError } from 'commander';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Input } from '../support/hidden-input.ts';
import { plainLine } from '../support/text.ts';
import { type Question, type Settings, withAnswer } from './questions.ts';

export type Given = Partial<Record<Question['key'], string>>;

interface Asking {
  given: Given;
  /** The person; none where there is no terminal. */
  person: Pick<Input, 'stream' | 'print'> | undefined;
  signal: AbortSignal;
}

/**
 * Takes the answers from the options, and asks a person for the others, each until it is one.
 * @returns the name of the deployment and its configuration
 * @throws CommandError (exit code 2) at an option that is wrong, or lacks where nobody can be asked
 */
export async function answersTo(questions: readonly Question[], settings: Settings, asking: Asking) {
  const { given, person, signal } = asking;
  const needed = questions.filter(({ key, normal }) => given[key] === undefined && normal === undefined);
  if (!person && needed.length > 0) {
    const flags = needed.map(({ flags }) => flags).join(', ');
    throw new CommandError(`Without a terminal nothing is asked: give ${flags}. Nothing was written.`, USAGE);
  }
  // Line by line, not key by key, so that Ctrl-C stays the terminal's.
  const lines = person && createInterface({ input: person.stream, terminal: false, signal });
  const arriving = lines?.[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => (await arriving?.next())?.value;
  let answered = settings;
  let name = given.deployment;
  try {
    for (const question of questions) {
      const { key, flags, normal } = question;
      const take = (answer: string) => {
        answered = withAnswer(answered, question, answer);
        if (key === 'deployment') name = answer;
      };
      const option = given[key] ?? (person ? undefined : normal);
      if (option !== undefined) takeOption(option, flags, take);
      else if (person) await askFor(question, person.print, next, take);
    }
  } finally {
    lines?.close();
  }
  return { name: name ?? '', settings: answered };
}

function takeOption(answer: string, flags: string, take: (answer: string) => void): void {
  const problem = problemOf(answer, take);
  if (problem) throw new CommandError(`${flags}: ${problem} Nothing was written.`, USAGE);
}

async function askFor(
  { about, normal }: Question,
  print: Input['print'],
  next: () => Promise<string | undefined>,
  take: (answer: string) => void,
): Promise<void> {
  for (;;) {
    print(`${about.charAt(0).toUpperCase()}${about.slice(1)}${normal ? ` [${normal}]` : ''}: `);
    const line = await next();
    if (line === undefined) throw new CommandError('Not everything was answered. Nothing was written.', USAGE);
    const problem = problemOf(line.trim() || (normal ?? ''), take);
    if (!problem) return;
    print(`  ${plainLine(problem)}\n`);
  }
}

function problemOf(answer: string, take: (answer: string) => void): string | undefined {
  try {
    take(answer);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.message;
    throw error;
  }
}
