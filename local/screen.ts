import { writeText } from '../cli/support/print.ts';
import { painterOf, SIGNS } from '../cli/support/text.ts';

export type Screen = ReturnType<typeof createScreen>;

/** Shows the progress of `npm start`: one line for each step that has ended. */
export function createScreen(stream: NodeJS.WriteStream) {
  const paint = painterOf(stream);
  const line = (text: string) => writeText(stream, `${text}\n`);
  return {
    line,
    /** Runs one step and shows its name, how long it took, and its result. */
    step: async <T>(title: string, work: () => Promise<T>, result: (value: T) => string = () => ''): Promise<T> => {
      const started = performance.now();
      const took = () => paint('idle')(`${((performance.now() - started) / 1000).toFixed(1)} s`);
      try {
        const value = await work();
        line([paint('good')(SIGNS.good), title, took(), result(value)].filter(Boolean).join(' '));
        return value;
      } catch (error) {
        line(`${paint('bad')(SIGNS.bad)} ${title} ${took()}`);
        throw error;
      }
    },
  };
}
