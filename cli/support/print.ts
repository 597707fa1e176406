import { plainLine } from './text.ts';

/** Prints results, on standard output. */
export function printOut(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a document. JSON escapes what begins with ESC, and leaves the controls of one byte, which terminals obey too. */
export function printJson(document: object): void {
  const escaped = (control: string) => `\\u00${control.charCodeAt(0).toString(16)}`;
  printOut(JSON.stringify(document).replace(/[\x7f-\x9f]/g, escaped));
}

/** Lines for a person on standard error, without terminal control sequences. */
export function printErr(text: string): void {
  process.stderr.write(`${plainLines(text)}\n`);
}

/** Lines without terminal control sequences. */
export function plainLines(text: string): string {
  return text
    .split('\n')
    .map((line) => `${/^ */.exec(line)}${plainLine(line)}`)
    .join('\n');
}
