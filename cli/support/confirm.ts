import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { usageError } from './exit.ts';
import { writeText } from './print.ts';
import { printableLine } from './text.ts';

/** Asks a person. Only "y" or "yes" means yes; any other answer or the end of the input means no. */
export async function confirm({ stream, print }: Pick<Input, 'stream' | 'print'>, question: string): Promise<boolean> {
  print(`${printableLine(question)} [y/N] `);
  // Reads whole lines, so that the terminal itself handles Ctrl-C.
  const lines = createInterface({ input: stream, terminal: false });
  try {
    const [answer] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    return /^\s*y(es)?\s*$/i.test(String(answer));
  } finally {
    lines.close();
  }
}

/** Asks on the terminal of the command. @throws CommandError (exit code 2) unless there is one and the answer is yes */
export async function askHere(question: string, refusal: string): Promise<void> {
  if (!process.stdin.isTTY) {
    const why = 'Standard input is not a terminal, so the command cannot ask';
    throw usageError(`${question} ${why}: add --yes; ${refusal}`);
  }
  const asking = { stream: process.stdin, print: (text: string) => writeText(process.stderr, text) };
  if (!(await confirm(asking, question))) throw usageError(`Not confirmed: ${refusal}`);
}

/** The source of lines, and the output for the question. */
export interface Input {
  stream: NodeJS.ReadableStream & { isTTY?: boolean | undefined };
  print: (text: string) => void;
  /** Called at Ctrl-C, which a terminal in key-by-key mode does not handle itself; default: end the process. */
  interrupt?: () => void;
}

/** Reads lines without echo, from a terminal key by key, else line by line. `next` returns `undefined` at the end. */
export function hiddenLines({ stream, interrupt = () => process.kill(process.pid, 'SIGINT') }: Input) {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stream, output: nowhere, terminal: stream.isTTY === true, historySize: 0 });
  lines.on('SIGINT', () => {
    lines.close();
    interrupt();
  });
  const arriving = lines[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => (await arriving.next()).value;
  return { next, close: () => lines.close() };
}

/** Asks for one line without echo; `undefined` if the line is empty or missing. */
export async function askHidden(input: Input, question: string): Promise<string | undefined> {
  // Echo is switched off before the question, so that a fast answer is hidden too.
  const lines = hiddenLines(input);
  input.print(question);
  try {
    return (await lines.next())?.trim() || undefined;
  } finally {
    lines.close();
    input.print('\n');
  }
}
