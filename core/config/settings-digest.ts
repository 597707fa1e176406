import { createHash } from 'node:crypto';
import { canonicalText } from '../json.ts';
import { exceptedOf } from './chosen-columns.ts';
import type { EntityPlan } from './entity-settings.ts';

/** How the settings are understood. To be raised when a release reads the same settings otherwise: then tables are written again. */
const RULES = 1;

/**
 * Says whether two tables were written under the same settings of what is readable, and names no column: 16 hexadecimal digits.
 * The order of the names does not matter.
 */
export function settingsDigest(plan: Pick<EntityPlan, 'columns' | 'tables'>): string {
  const sorted = (names: readonly string[] = []) => [...new Set(names)].sort();
  const { except, hash } = plan.tables ?? {};
  const decides = { rules: RULES, except: sorted(exceptedOf(plan)), tables: sorted(except), hash: sorted(hash) };
  return createHash('sha256').update(canonicalText(decides)).digest('hex').slice(0, 16);
}
