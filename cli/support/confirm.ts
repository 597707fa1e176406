import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { plainLine } from './text.ts';

/** Asks a person; anything but "y" or "yes" is a no, the end of the input too, and where the signal ends the question. */
export async function confirm(
  { stream, print }: Pick<Input, 'stream' | 'print'>,
  question: string,
  signal?: AbortSignal,
): Promise<boolean> {
  print(`${plainLine(question)} [y/N] `);
  // The answer is read line by line, not key by key, so that Ctrl-C stays the terminal's.
  const lines = createInterface({ input: stream, terminal: false, ...(signal && { signal }) });
  try {
    const [answer] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    return /^\s*y(es)?\s*$/i.test(String(answer));
  } finally {
    lines.close();
  }
}

/** Where lines come from, and where a person is asked for them. */
export interface Input {
  stream: NodeJS.ReadableStream & { isTTY?: boolean | undefined };
  print: (text: string) => void;
  /** What Ctrl-C does, which a terminal that is read key by key does not do by itself; default: end the process. */
  interrupt?: () => void;
}

/** Reads lines without echo: a terminal key by key, anything else line by line. `next` returns `undefined` at the end. */
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

/** Asks for one line that nobody is to see; `undefined` when none was given. */
export async function askHidden(input: Input, question: string): Promise<string | undefined> {
  // First the terminal is silenced: who answers at once is not seen either.
  const lines = hiddenLines(input);
  input.print(question);
  try {
    return (await lines.next())?.trim() || undefined;
  } finally {
    lines.close();
    input.print('\n');
  }
}
