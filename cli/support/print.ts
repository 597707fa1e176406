import { colorsFor, escapeControls } from './text.ts';

const ESCAPE = '\x1b';
/** The colour codes that `colorsFor` writes. */
const COLORS = new RegExp(`(${ESCAPE}\\[(?:2|22|3[1236]|39)m)`);

/**
 * Writes a text to standard output or standard error with its control characters escaped. Only the file of
 * `download -o -` is written differently. Colours are kept if the stream shows them.
 */
export function writeText(stream: NodeJS.WriteStream, text: string): void {
  const parts = colorsFor(stream).isColored ? text.split(COLORS) : [text];
  stream.write(parts.map((part, index) => (index % 2 === 1 ? part : escapeControls(part))).join(''));
}

/** Prints results to standard output. */
export function printOut(text: string): void {
  writeText(process.stdout, `${text}\n`);
}

/** Prints a document on one line to standard output. */
export function printJson(document: object): void {
  printOut(JSON.stringify(document));
}

/** Prints lines for a person to standard error. */
export function printErr(text: string): void {
  writeText(process.stderr, `${text}\n`);
}

/** Lines at the end of a terminal that each call overwrites. Lines that are too long for the terminal are cut. */
export function liveLines(stream: NodeJS.WriteStream) {
  let shown = 0;
  const clear = () => {
    if (shown > 0) stream.write(`${ESCAPE}[1A${ESCAPE}[2K`.repeat(shown));
    shown = 0;
  };
  return {
    show: (text: string) => {
      clear();
      const lines = text.split('\n').map((line) => fitted(line, stream.columns || Number.POSITIVE_INFINITY));
      shown = lines.length;
      writeText(stream, `${lines.join('\n')}\n`);
    },
    clear,
  };
}

/** A line that is cut loses its colours. */
function fitted(line: string, columns: number): string {
  const plain = line.split(COLORS).filter((_, index) => index % 2 === 0);
  const text = plain.join('');
  return text.length > columns ? text.slice(0, columns) : line;
}
