import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Input } from './hidden-input.ts';
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
