import { createLogUpdate } from 'log-update';
import { colorsFor, manyText, movedText, plainLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import type { Progress } from './executions.ts';
import { reasonText, timesText } from './run/waiting.ts';

export type Screen = ReturnType<typeof createScreen>;
type Colors = ReturnType<typeof colorsFor>;

/** Shows a person what happens: live on a terminal, one line per event elsewhere. */
export function createScreen(stream: NodeJS.WriteStream) {
  const live = stream.isTTY === true;
  const colors = colorsFor(stream);
  const update = createLogUpdate(stream);
  const shown = new Map<string, string>();
  /** Redrawn below each line on a terminal. */
  let below = '';
  const show = (text: string) => {
    below = text;
    if (text) update(text);
    else update.clear();
  };
  const line = (text: string) => {
    if (below) update.clear();
    stream.write(`${text}\n`);
    if (below) update(below);
  };
  return {
    line,
    /** Runs one step and shows its name, how long it took, and its result. */
    step: async <T>(title: string, work: () => Promise<T>, result: (value: T) => string = () => ''): Promise<T> => {
      const started = performance.now();
      const took = () => colors.dim(`${((performance.now() - started) / 1000).toFixed(1)} s`);
      if (live) show(`${colors.cyan('…')} ${title}`);
      try {
        const value = await work();
        if (live) show('');
        line([colors.green('✓'), title, took(), result(value)].filter(Boolean).join(' '));
        return value;
      } catch (error) {
        if (live) show('');
        line(`${colors.red('✗')} ${title} ${took()}`);
        throw error;
      }
    },
    progress: (rows: Progress[]) => {
      if (live) return show(liveRows(rows, colors));
      for (const row of rows.filter(({ state }) => state)) {
        const facts = [stateText(row), manyText(row.checks, 'check'), movedText(row), ...waitingTexts(row)];
        const text = `${row.entity}: ${facts.filter(Boolean).join(', ')}`;
        if (shown.get(row.entity) !== text) line(`  ${text} (${row.seconds.toFixed(1)} s)`);
        shown.set(row.entity, text);
      }
    },
    /** Leaves the last rows. */
    endProgress: () => {
      below = '';
      if (live) update.done();
    },
  };
}

function liveRows(rows: Progress[], colors: Colors): string {
  const cells = rows.map((row) => {
    const { entity, checks, seconds } = row;
    return [entity, stateText(row), `${checks}`, movedText(row), `${seconds.toFixed(1)} s`];
  });
  const [head = '', ...lines] = textTable(['entity', 'state', 'checks', 'bytes', 'elapsed'], cells).split('\n');
  const shown = rows.map((row, index) => {
    const { status } = row;
    const paint = status === 'SUCCEEDED' ? colors.green : status === 'RUNNING' ? String : colors.red;
    const line = paint(lines[index] ?? '');
    return row.waiting?.trouble ? `${line}\n${colors.yellow(`    ${waitingTexts(row).join(', ')}`)}` : line;
  });
  return [colors.dim(head), ...shown].join('\n');
}

function stateText({ state, status }: Progress): string {
  return plainLine(status === 'RUNNING' ? state || 'starting' : `${state} (${status})`);
}

function waitingTexts({ waiting }: Progress): string[] {
  return waiting ? [reasonText(waiting), timesText(waiting)].filter(Boolean).map(plainLine) : [];
}
