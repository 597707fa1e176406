import type { EntityPlan } from './deployment.ts';

/** Columns that no request may name. */
export function exceptedOf({ columns }: Pick<EntityPlan, 'columns'>): string[] {
  return typeof columns === 'object' && !Array.isArray(columns) ? (columns.except ?? []) : [];
}

/**
 * Those of the left out columns that filters or sorts name: to select by a column tells what is in it. Which of their texts are
 * names, only the CRM knows, so every word counts.
 */
export function exceptedIn(filtersOrSorts: unknown, except: readonly string[]): string[] {
  const texts = textsIn(filtersOrSorts);
  return except.filter((name) => {
    const word = new RegExp(`(?<![\\p{L}\\d_])${name}(?![\\p{L}\\d_])`, 'iu');
    return texts.some((text) => word.test(text));
  });
}

/** Keys and values, at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}
