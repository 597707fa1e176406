import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

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
  const waiting: ((line: string | undefined) => void)[] = [];
  const arrived: string[] = [];
  let ended = false;
  lines.on('line', (line) => {
    const taker = waiting.shift();
    if (taker) taker(line);
    else arrived.push(line);
  });
  lines.on('SIGINT', () => {
    lines.close();
    interrupt();
  });
  lines.on('close', () => {
    ended = true;
    for (const taker of waiting.splice(0)) taker(undefined);
  });
  const next = () =>
    new Promise<string | undefined>((resolve) => {
      if (arrived.length > 0 || ended) resolve(arrived.shift());
      else waiting.push(resolve);
    });
  return { next, close: () => lines.close() };
}

/** Asks for one line that nobody is to see; `undefined` when none was given. */
export async function askHidden(input: Input, question: string): Promise<string | undefined> {
  input.print(question);
  const lines = hiddenLines(input);
  try {
    return (await lines.next())?.trim() || undefined;
  } finally {
    lines.close();
    input.print('\n');
  }
}
