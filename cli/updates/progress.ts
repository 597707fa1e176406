import { createLogUpdate } from 'log-update';
import type { Counts } from '../../core/batch/batch-manifest.ts';
import { manyText } from '../support/text.ts';

/** How far a batch is. */
export interface BatchProgress {
  counts: Counts;
  /** Lines with an outcome. */
  lines: number;
  records: number;
  seconds: number;
}

const BAR_CELLS = 24;
/** Elsewhere than on a terminal: a line for so many percent more. */
const STEP_PERCENT = 5;

/** Shows a person how far a batch is: one live row on a terminal, which `end` leaves; a line now and then elsewhere. */
export function createProgressDisplay(stream: NodeJS.WriteStream) {
  // A terminal that does not know its size has no room for a row.
  if (stream.isTTY && stream.columns > 0 && stream.rows > 0) {
    const update = createLogUpdate(stream);
    return {
      show: (progress: BatchProgress) => update(`${barOf(progress)} ${progressText(progress)}`),
      end: () => update.done(),
    };
  }
  let shown = -1;
  const show = (progress: BatchProgress) => {
    const step = Math.floor(percentOf(progress) / STEP_PERCENT);
    if (step === shown) return;
    shown = step;
    stream.write(`${progressText(progress)}\n`);
  };
  return { show, end: () => undefined };
}

/** `430 of 1,000 lines (43 %), 21.3 a second; 2 REJECTED` */
export function progressText(progress: BatchProgress): string {
  const { lines, records, seconds, counts } = progress;
  const done = `${lines.toLocaleString('en')} of ${manyText(records, 'line')} (${percentOf(progress)} %)`;
  const rate = seconds > 0 ? `, ${(lines / seconds).toFixed(1)} a second` : '';
  const others = Object.entries(counts).flatMap(([outcome, count]) =>
    outcome === 'APPLIED' || count === 0 ? [] : [`${count.toLocaleString('en')} ${outcome}`],
  );
  return `${done}${rate}${others.length > 0 ? `; ${others.join(', ')}` : ''}`;
}

function barOf(progress: BatchProgress): string {
  const full = Math.floor((percentOf(progress) * BAR_CELLS) / 100);
  return `[${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}]`;
}

/** Rounded down: 100 only when all are done. */
function percentOf({ lines, records }: BatchProgress): number {
  return records === 0 ? 0 : Math.floor((lines * 100) / records);
}
