import { liveLines, writeText } from '../cli/support/print.ts';
import { colorsFor } from '../cli/support/text.ts';

export type Screen = ReturnType<typeof createScreen>;

/** Shows the progress of `npm start`: one line for each step. A terminal also shows the running step. */
export function createScreen(stream: NodeJS.WriteStream) {
  const isLive = stream.isTTY === true;
  const colors = colorsFor(stream);
  const live = liveLines(stream);
  /** The text that is redrawn below each line on a terminal. */
  let below = '';
  const show = (text: string) => {
    below = text;
    if (text) live.show(text);
    else live.clear();
  };
  const line = (text: string) => {
    if (below) live.clear();
    writeText(stream, `${text}\n`);
    if (below) live.show(below);
  };
  return {
    line,
    /** Runs one step and shows its name, how long it took, and its result. */
    step: async <T>(title: string, work: () => Promise<T>, result: (value: T) => string = () => ''): Promise<T> => {
      const started = performance.now();
      const took = () => colors.dim(`${((performance.now() - started) / 1000).toFixed(1)} s`);
      if (isLive) show(`${colors.cyan('…')} ${title}`);
      try {
        const value = await work();
        if (isLive) show('');
        line([colors.green('✓'), title, took(), result(value)].filter(Boolean).join(' '));
        return value;
      } catch (error) {
        if (isLive) show('');
        line(`${colors.red('✗')} ${title} ${took()}`);
        throw error;
      }
    },
  };
}
