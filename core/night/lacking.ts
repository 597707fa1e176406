import type { Night } from './marker.ts';

/** What a night that is not complete waits for: `leads`, or `leads (table)`. */
export function lackingIn({ entities }: Pick<Night, 'entities'>): string[] {
  return Object.entries(entities).flatMap(([entity, { file, tableVersion, table }]) => {
    if (!file) return [entity];
    return tableVersion !== null && !table ? [`${entity} (table)`] : [];
  });
}
