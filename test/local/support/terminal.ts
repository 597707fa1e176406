import { Writable } from 'node:stream';

export interface Terminal {
  stream: NodeJS.WriteStream;
  /** Everything that was written, as it was written. */
  raw: () => string;
  /** The lines that a person sees, as far as the cursor has come. */
  seen: () => string[];
}

/** A stream that a screen can be shown on, with or without the abilities of a terminal. */
export function terminal(isTTY: boolean): Terminal {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      done();
    },
  });
  const raw = () => written.join('');
  // The stream is no whole WriteStream, but has all that is used here.
  const shown = Object.assign(stream, { isTTY, columns: 100, rows: 30 }) as unknown as NodeJS.WriteStream;
  return { stream: shown, raw, seen: () => draw(raw()) };
}

/** Does what a terminal does with text, line feeds and the few sequences that are used. */
function draw(text: string): string[] {
  const lines: string[] = [''];
  let row = 0;
  let column = 0;
  const line = () => lines[row] ?? '';
  const commands: Record<string, (count: string) => void> = {
    A: (count) => {
      row = Math.max(0, row - Number(count || 1));
    },
    B: (count) => {
      row += Number(count || 1);
    },
    G: (count) => {
      column = Number(count || 1) - 1;
    },
    K: (count) => {
      lines[row] = count === '2' ? '' : line().slice(0, column);
    },
  };
  const put = (part: string) => {
    lines[row] = line().padEnd(column).slice(0, column) + part + line().slice(column + part.length);
    column += part.length;
  };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
  for (const [part, count = '', command = ''] of text.matchAll(/\u001b\[\??(\d*)([A-Za-z])|\n|[^\u001b\n]+/g)) {
    if (part === '\n') [row, column] = [row + 1, 0];
    else if (command) commands[command]?.(count);
    else put(part);
    lines[row] ??= '';
  }
  return lines.slice(0, row + 1).map((shown) => shown.trimEnd());
}
