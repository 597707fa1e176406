import type { Manifest } from '../../core/export/manifest.ts';
import type { Invocation } from '../../core/step/invocation.ts';

/**
 * Whether a table follows: never that of a partial export, which has other records than the table's other dates.
 * @param ofDate whether the pointer of the date names the run; else a later one writes the table
 */
export function publishedOutcome(
  { entity, kind }: Pick<Manifest, 'entity' | 'kind'>,
  ofDate: boolean,
  { deployment }: Pick<Invocation, 'deployment'>,
): 'PUBLISHED' | 'TABLE_DUE' {
  const tabled = ofDate && kind !== 'partial';
  const wanted = tabled && deployment.entities[entity].tables !== undefined;
  return wanted ? 'TABLE_DUE' : 'PUBLISHED';
}
