import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { FunctionLog } from '../log/log.ts';
import type { FunctionName } from './steps.ts';

/** Logs a bug by name and frames, and makes the error to throw: without the bug's message, which may quote data. */
export function crash(step: FunctionName, error: unknown, requestId: string, log: FunctionLog): Error {
  const name = error instanceof Error ? error.name : typeof error;
  log.error('crashed', { crash: name, frames: originalFrames(framesOf(error)), requestId });
  const thrown = new Error(
    `${step} stopped with ${name} in request ${requestId}; the log of the function has the place.`,
  );
  thrown.name = name;
  // The runtime of Lambda sends the stack along, and loses the name of an error that has none.
  thrown.stack = `${name}: ${thrown.message}`;
  return thrown;
}

/** The stack holds the message as well, whose lines may look like frames. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const places = (error.stack ?? '').replace(error.message, () => '').split('\n');
  return places.filter((line) => /^\s+at /.test(line)).map((line) => line.trim());
}

/**
 * Frames with places in the sources, by the source map beside the bundle that this module is a part of. Node's
 * `--enable-source-maps` would read the map at every start, which takes half as long again.
 */
function originalFrames(frames: string[]): string[] {
  const bundle = import.meta.url;
  const map = sourceMapOf(bundle);
  if (!map) return frames;
  return frames.map((frame) => {
    const place = /:(\d+):(\d+)\)?$/.exec(frame);
    if (!place || !frame.includes(bundle)) return frame;
    const line = Number(place[1]);
    const column = Number(place[2]);
    const origin = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in origin)) return frame;
    const { originalSource, originalLine, originalColumn } = origin;
    const source = originalSource.replace(/^(\.\.\/)+/, '');
    return frame.replace(`${bundle}:${line}:${column}`, `${source}:${originalLine + 1}:${originalColumn + 1}`);
  });
}

function sourceMapOf(bundle: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${bundle}.map`), 'utf8')));
  } catch {
    // The code is not bundled, or has no map.
    return undefined;
  }
}
