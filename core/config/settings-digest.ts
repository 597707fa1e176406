import { sha256Of } from '../json.ts';
import type { EntityPlan } from './entity-settings.ts';

/** The version of how settings are read. Raise it if a release reads them differently: tables are then rewritten. */
const RULES = 1;

/**
 * A digest of the settings that decide which values readers see: 16 hexadecimal digits, without column names. It shows
 * whether two tables were written with the same settings. The order of the names does not matter.
 */
export function settingsDigest(plan: Pick<EntityPlan, 'columns' | 'tables'>): string {
  const sorted = (names: readonly string[] = []) => [...new Set(names)].sort();
  const { except, hash } = plan.tables ?? {};
  const decides = { rules: RULES, except: sorted(plan.columns.except), tables: sorted(except), hash: sorted(hash) };
  return sha256Of(decides, 16);
}
