import type { Cell, Facts } from './facts.ts';
import { isPublished } from './judge.ts';

/** Whether it is known what became of a date: without the executions, a run of it may be under way. */
export function isCertain({ attemptsKnown }: Pick<Facts, 'attemptsKnown'>, cell: Cell): boolean {
  return attemptsKnown || isPublished(cell) || ['none', 'off', 'paused', 'withoutRule'].includes(cell.outcome);
}

/** Whether every date that is due is whole; `null` where it cannot be told. */
export function isWhole(facts: Pick<Facts, 'attemptsKnown'>, cells: Cell[]): boolean | null {
  const certain = cells.filter((cell) => isCertain(facts, cell));
  if (certain.some(({ missing }) => missing)) return false;
  return certain.length === cells.length ? true : null;
}
