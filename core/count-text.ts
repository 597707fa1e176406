/** Numbers in sentences. */

export function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

/** A count and its noun: `1 row`, `2,000 rows`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}
