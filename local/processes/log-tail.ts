import { open, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const FOLLOW_EVERY_MS = 50;

/** The last `count` lines of a text file, without trailing empty ones; none when there is no such file. */
export async function lastLines(file: string, count: number): Promise<string[]> {
  const text = (await readFile(file, 'utf8').catch(() => '')).trimEnd();
  return text === '' ? [] : text.split(/\r?\n/).slice(-count);
}

/**
 * Hands every line that is appended to a file to `onLine`, from byte `offset` on; `finish` reads what is left. A file instead of
 * a pipe: a child that writes to a file neither stalls nor breaks when its starter does.
 */
export function followLines(file: string, offset: number, onLine: (line: string) => void) {
  const stopped = new AbortController();
  const reader = lineReader(file, offset, onLine);
  const loop = async () => {
    while (!stopped.signal.aborted) {
      await reader.read();
      await delay(FOLLOW_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
    await reader.read();
    reader.flush();
  };
  const done = loop();
  const finish = () => {
    stopped.abort();
    return done;
  };
  return { finish };
}

function lineReader(file: string, offset: number, onLine: (line: string) => void) {
  const decoder = new TextDecoder();
  let position = offset;
  let rest = '';
  return {
    read: async () => {
      const bytes = await readFrom(file, position);
      position += bytes.length;
      const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    },
    flush: () => {
      if (rest !== '') onLine(rest);
    },
  };
}

async function readFrom(file: string, position: number): Promise<Uint8Array> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const buffer = new Uint8Array(Math.max(0, size - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
