import { escapeControls, isColored } from './text.ts';

const ESCAPE = '\x1b';
/** The colour codes that `painterOf` writes. */
const COLORS = new RegExp(`(${ESCAPE}\\[(?:2|22|3[1236]|39)m)`);

/**
 * Writes a text to standard output or standard error with its control characters escaped. Only the file of
 * `download -o -` is written differently. Colours are kept if the stream shows them.
 */
export function writeText(stream: NodeJS.WriteStream, text: string): void {
  const parts = isColored(stream) ? text.split(COLORS) : [text];
  stream.write(parts.map((part, index) => (index % 2 === 1 ? part : escapeControls(part))).join(''));
}

/** Prints results to standard output. */
export function printOut(text: string): void {
  writeText(process.stdout, `${text}\n`);
}

export function printJson(document: object): void {
  printOut(JSON.stringify(document));
}

/** Prints lines for a person to standard error. */
export function printErr(text: string): void {
  writeText(process.stderr, `${text}\n`);
}

/** A line at the end of a terminal that each call overwrites. It is cut if it is too long for the terminal. */
export function liveLine(stream: NodeJS.WriteStream) {
  let isShown = false;
  const clear = () => {
    if (isShown) stream.write(`${ESCAPE}[1A${ESCAPE}[2K`);
    isShown = false;
  };
  return {
    show: (text: string) => {
      clear();
      isShown = true;
      writeText(stream, `${escapeControls(text).slice(0, stream.columns || undefined)}\n`);
    },
    clear,
  };
}
