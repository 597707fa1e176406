import { plainLine } from './text.ts';

/** Prints results, on standard output. */
export function printOut(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Lines for a person on standard error, without terminal control sequences. */
export function printErr(text: string): void {
  const lines = text.split('\n').map((line) => `${/^ */.exec(line)}${plainLine(line)}`);
  process.stderr.write(`${lines.join('\n')}\n`);
}
