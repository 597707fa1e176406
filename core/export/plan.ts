import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod/mini';
import type { EntityPlan } from '../config/entity-settings.ts';
import { dependsOnDate } from '../config/relative-date.ts';
import { sha256Of } from '../json.ts';
import { PLAN_PARTS } from '../step/run-input.ts';
import type { kindSchema } from '../step/states.ts';
import type { ExportInput } from './input.ts';

/** The settings that decide the records and columns of a file: no sorts, no e-mail; relative dates are not resolved. */
interface PlanParts {
  columns: 'all' | { except: string[] } | string[];
  filters: Record<string, unknown>[];
  filtersOperator: 'and' | 'or' | null;
  extra: Record<string, unknown>;
}

/** The plan of a run: the configuration of its entity, overridden by the input. */
export interface Plan extends PlanParts {
  configured: EntityPlan;
  input: ExportInput;
  /** SHA-256, hexadecimal: files with equal digests can be compared. */
  digest: string;
  /** Keys of the input that make the plan differ from the configured one. */
  differs: string[];
  kind: z.infer<typeof kindSchema>;
}

type Configured = Pick<EntityPlan, 'columns' | 'filters' | 'filtersOperator' | 'extra'>;
type Asked = Pick<ExportInput, 'columns' | 'filters' | 'filtersOperator' | 'sorts'>;

export function planFor<Input extends ExportInput>(configured: EntityPlan, input: Input): Plan & { input: Input } {
  const ours = partsOf(configured);
  const parts = partsOf(configured, input);
  const differs = PLAN_PARTS.filter((key) => !isDeepStrictEqual(ours[key], parts[key]));
  return {
    ...parts,
    configured,
    input,
    digest: sha256Of([input.entity, parts]),
    differs,
    kind: differs.length > 0 ? 'partial' : dependsOnDate(parts.filters) ? 'window' : 'full',
  };
}

function partsOf(configured: Configured, input: Asked = {}): PlanParts {
  const filters = input.filters ?? configured.filters ?? [];
  return {
    columns: columnsOf(configured, input.columns),
    filters,
    filtersOperator: (filters.length > 0 && (input.filtersOperator ?? configured.filtersOperator)) || null,
    extra: configured.extra,
  };
}

/** The columns of the plan. Labels, the kind of header and required columns do not belong to the plan. */
function columnsOf(configured: Configured, asked: Asked['columns']): PlanParts['columns'] {
  if (Array.isArray(asked)) return asked;
  const only = configured.columns.only;
  if (only && asked === undefined) return only;
  const except = configured.columns.except;
  return except.length > 0 ? { except: [...except].sort() } : 'all';
}
