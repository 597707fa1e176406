import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { exceptedOf, onlyOf } from '../config/chosen-columns.ts';
import type { Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { RunError } from '../errors.ts';
import { exceptedIn } from '../excepted-columns.ts';
import { canonicalText } from '../json.ts';
import { PLAN_PARTS } from '../plan-parts.ts';
import { quotedName } from '../suggestion.ts';
import type { ExportInput } from './input.ts';

/** What decides the records and columns of a file: without sorts and e-mail, and with relative dates as they are written. */
export interface Plan {
  columns: 'all' | { except: string[] } | string[];
  filters: Record<string, unknown>[];
  filtersOperator: 'and' | 'or' | null;
  extra: Record<string, unknown>;
}

type Configured = Pick<EntityPlan, 'columns' | 'filters' | 'filtersOperator' | 'extra'>;
type Wanted = Pick<ExportInput, 'columns' | 'filters' | 'filtersOperator' | 'sorts'>;

/** Input before configuration. @throws RunError `InvalidInput` where the input names a column that is left out */
export function planOf(configured: Configured, input: Wanted = {}): Plan {
  refuseExcepted(exceptedOf(configured), input);
  const filters = input.filters ?? configured.filters ?? [];
  return {
    columns: columnsOf(configured, input.columns),
    filters,
    filtersOperator: (filters.length > 0 && (input.filtersOperator ?? configured.filtersOperator)) || null,
    extra: configured.extra,
  };
}

/** SHA-256, hexadecimal: files of equal plans can be compared. */
export function planDigest(entity: Entity, plan: Plan): string {
  return createHash('sha256')
    .update(canonicalText([entity, plan]))
    .digest('hex');
}

/** Keys of the input by which its plan is not the configured one. */
export function differingKeys(configured: Configured, input: Wanted): string[] {
  const ours = planOf(configured);
  const theirs = planOf(configured, input);
  return PLAN_PARTS.filter((key) => !isDeepStrictEqual(ours[key], theirs[key]));
}

function refuseExcepted(except: string[], { columns, filters, sorts }: Wanted): void {
  const requested = Array.isArray(columns) ? columns : [];
  const named = exceptedIn([filters, sorts], except);
  const refused = except.filter((name) => requested.includes(name) || named.includes(name));
  if (refused.length === 0) return;
  const names = refused.slice(0, 20).map((name) => quotedName(name));
  const what = `The configuration leaves out ${names.join(', ')} (columns.except): no input can ask for it.`;
  throw new RunError('InvalidInput', what);
}

/** Labels, the kind of header and required columns decide nothing of it. */
function columnsOf(configured: Configured, wanted: Wanted['columns']): Plan['columns'] {
  if (Array.isArray(wanted)) return wanted;
  const only = onlyOf(configured);
  if (only && wanted === undefined) return only;
  const except = exceptedOf(configured);
  return except.length > 0 ? { except: [...except].sort() } : 'all';
}
