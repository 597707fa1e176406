import type { Cell } from './column.ts';
import type { CrmRecord } from './records.ts';

export interface Selection {
  sorts: { field: string; dir: 'asc' | 'desc' }[];
  filters: { field: string; operator: string; value: unknown }[];
  filtersOperator: 'and' | 'or';
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const left = String(a ?? '');
  const right = String(b ?? '');
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

const OPERATORS: Record<string, (cell: Cell, value: unknown) => boolean> = {
  equals: (cell, value) => compare(cell, value) === 0,
  contains: (cell, value) => String(cell ?? '').includes(String(value)),
  gt: (cell, value) => cell !== null && compare(cell, value) > 0,
  lt: (cell, value) => cell !== null && compare(cell, value) < 0,
};

function matches(record: CrmRecord, { filters, filtersOperator }: Selection): boolean {
  const results = filters
    .filter(({ operator }) => Object.hasOwn(OPERATORS, operator))
    .map(({ field, operator, value }) => OPERATORS[operator]?.(record[field] ?? null, value));
  if (results.length === 0) return true;
  return filtersOperator === 'and' ? results.every(Boolean) : results.some(Boolean);
}

/** The records that pass the filters, in the order of the sorts. A filter with an operator that is unknown passes all. */
export function select(records: CrmRecord[], selection: Selection): CrmRecord[] {
  const found = records.filter((record) => matches(record, selection));
  return found.sort((a, b) => {
    for (const { field, dir } of selection.sorts) {
      const order = compare(a[field], b[field]);
      if (order !== 0) return dir === 'asc' ? order : -order;
    }
    return 0;
  });
}
