import { Writable } from 'node:stream';

/** A stream that a screen can be shown on, with or without the abilities of a terminal, and what was written to it. */
export function terminal(isTTY: boolean): { stream: NodeJS.WriteStream; raw: () => string } {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      done();
    },
  });
  // The stream is no whole WriteStream, but has all that is used here.
  const shown = Object.assign(stream, { isTTY, columns: 100, rows: 30 }) as unknown as NodeJS.WriteStream;
  return { stream: shown, raw: () => written.join('') };
}
