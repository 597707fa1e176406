export function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** @param rows `null` = not counted */
export function rowsText(rows: number | null): string {
  return rows === null ? 'rows that cannot be counted' : countText(rows, 'row');
}

export function usualText(medianRows: number | null): string {
  return `${numberText(medianRows ?? 0)} are usual`;
}
