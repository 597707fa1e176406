import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/**
 * Frames of a stack with places in the bundle replaced by places in the sources, by the source map that lies beside it.
 * Only a crash asks for it: Node's `--enable-source-maps` reads the map at every start, and half an empty start longer.
 * @param bundle address of the bundled file, which this module is a part of; where it is not bundled, nothing changes
 */
export function originalFrames(frames: string[], bundle: string = import.meta.url): string[] {
  const map = sourceMapOf(bundle);
  if (!map) return frames;
  return frames.map((frame) => {
    const place = /:(\d+):(\d+)\)?$/.exec(frame);
    if (!place || !frame.includes(bundle)) return frame;
    const [line, column] = [Number(place[1]), Number(place[2])];
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
    // Not bundled, or no map: the place in the file that runs is the best there is.
    return undefined;
  }
}
