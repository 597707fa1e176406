import { plainLine } from './text.ts';

/** Lines for a person on standard error, with nothing in them that a terminal would obey. */
export function say(text: string): void {
  const lines = text.split('\n').map((line) => `${/^ */.exec(line)}${plainLine(line)}`);
  process.stderr.write(`${lines.join('\n')}\n`);
}
