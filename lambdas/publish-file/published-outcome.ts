import type { Manifest } from '../../core/export/manifest.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { RunState } from '../../core/step/states.ts';

/** The first machine that knows TABLE_DUE. */
const TABLES_SINCE = 3;

/**
 * Whether a table follows: never that of a partial export, which has other records than the table's other dates.
 * @param ofDate whether the pointer of the date names the run; else a later one writes the table
 */
export function publishedOutcome(
  { entity, kind }: Pick<Manifest, 'entity' | 'kind'>,
  ofDate: boolean,
  { machineVersion }: RunState,
  { deployment }: Pick<Invocation, 'deployment'>,
): 'PUBLISHED' | 'TABLE_DUE' {
  const tabled = ofDate && kind !== 'partial';
  const wanted = tabled && machineVersion >= TABLES_SINCE && deployment.entities[entity].tables !== undefined;
  return wanted ? 'TABLE_DUE' : 'PUBLISHED';
}
