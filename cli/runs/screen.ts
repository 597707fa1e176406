import { createLogUpdate } from 'log-update';
import { createColors } from 'picocolors';
import { movedText } from '../support/bytes-text.ts';
import { table } from '../support/table.ts';
import { manyText } from '../support/text.ts';
import type { Progress } from './run-report.ts';
import { reasonText, timesText } from './waiting.ts';

/** Where a person follows what happens: live on a terminal, one line per event elsewhere. */
export interface Screen {
  line(text: string): void;
  /** Runs one step and shows its name, how long it took, and what came of it. */
  step<T>(title: string, work: () => Promise<T>, result?: (value: T) => string): Promise<T>;
  /** Shows how far the runs are. */
  progress(rows: Progress[]): void;
  /** Leaves the last rows standing. */
  endProgress(): void;
}

type Colors = ReturnType<typeof createColors>;

export function createScreen(stream: NodeJS.WriteStream): Screen {
  const live = stream.isTTY === true;
  const colors = createColors(live && !process.env.NO_COLOR);
  const update = createLogUpdate(stream);
  const shown = new Map<string, string>();
  /** What stands below the lines on a terminal, and is drawn anew below the next one. */
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
    step: async (title, work, result = () => '') => {
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
    progress: (rows) => {
      if (live) return show(liveRows(rows, colors));
      for (const row of rows.filter(({ state }) => state)) {
        const text = `${row.entity}: ${[stateText(row), manyText(row.checks, 'check'), movedText(row), ...waitingTexts(row)].filter(Boolean).join(', ')}`;
        if (shown.get(row.entity) !== text) line(`  ${text} (${row.seconds.toFixed(1)} s)`);
        shown.set(row.entity, text);
      }
    },
    endProgress: () => {
      below = '';
      if (live) update.done();
    },
  };
}

function liveRows(rows: Progress[], colors: Colors): string {
  const cells = rows.map((row) => [
    row.entity,
    stateText(row),
    `${row.checks}`,
    movedText(row),
    `${row.seconds.toFixed(1)} s`,
  ]);
  const [head = '', ...lines] = table(['entity', 'state', 'checks', 'bytes', 'elapsed'], cells).split('\n');
  const shown = rows.map((row, index) => {
    const line = paintOf(row, colors)(lines[index] ?? '');
    return row.waiting?.trouble ? `${line}\n${colors.yellow(`    ${waitingTexts(row).join(', ')}`)}` : line;
  });
  return [colors.dim(head), ...shown].join('\n');
}

function paintOf({ status }: Progress, colors: Colors): (text: string) => string {
  if (status === 'SUCCEEDED') return colors.green;
  return status === 'RUNNING' ? String : colors.red;
}

function stateText({ state, status }: Progress): string {
  return status === 'RUNNING' ? state || 'starting' : `${state} (${status})`;
}

function waitingTexts({ waiting }: Progress): string[] {
  return waiting ? [reasonText(waiting), timesText(waiting)].filter(Boolean) : [];
}
