import type { Range } from './facts.ts';

export function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** @param range `null` = not counted */
export function rowsText(range: Range | null): string {
  if (!range) return 'rows that cannot be counted';
  const { least, most } = range;
  return least === most ? countText(least, 'row') : `${numberText(least)} to ${countText(most, 'row')}`;
}

export function usualText(medianRows: number | null): string {
  return `${numberText(medianRows ?? 0)} are usual`;
}
