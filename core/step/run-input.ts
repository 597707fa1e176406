import * as z from 'zod/mini';
import type { Entity } from '../config/entities.ts';
import { entitySchema } from '../config/entity-schema.ts';
import { ownValue } from '../json.ts';
import type { RunFields } from '../log/log-fields.ts';
import type { RunState } from './states.ts';

/** The settings and input keys that decide the records and columns of a file. */
export const PLAN_PARTS = ['columns', 'filters', 'filtersOperator'] as const;

const inputSchema = z.object({
  entity: entitySchema,
  date: z.optional(z.iso.date()),
  scheduledFor: z.optional(z.iso.datetime({ offset: true })),
  /** Whether the input has its own plan. The plan itself is not kept. */
  ownPlan: z.optional(z.literal(true)),
  // An input with one of these keys does not export.
  release: z.optional(z.never()),
  table: z.optional(z.never()),
});
export type NightInput = z.infer<typeof inputSchema>;

/** The part of an input that identifies the night of a run; `null` if the input has no such part. */
export function nightInput(input: unknown): NightInput | null {
  const { data } = inputSchema.safeParse(input);
  if (!data) return null;
  return PLAN_PARTS.some((key) => ownValue(input, key) !== undefined) ? { ...data, ownPlan: true } : data;
}

/** The fields that name the run in every log line. */
export function aboutRun({ run, input, execution }: RunState): RunFields {
  return { entity: run?.entity ?? requestedEntity(input), execution, exportId: run?.exportId };
}

/** The entity of an input, even if other parts of the input are wrong. */
export function requestedEntity(input: unknown): Entity | undefined {
  return entitySchema.safeParse(ownValue(input, 'entity')).data;
}

/** The execution name of the export of `verify`, such as `leads-verify-20261122T020000Z-1a2b3c-0`. */
const NAME = /^[a-z-]+-verify-\d{8}T\d{6}Z-[0-9a-f]{6}-0$/;

/** Whether `verify` started a run: itself, by execution name, or by its rule, whose input has the key `verify`. */
export function isOfVerify(execution: string, input: unknown): boolean {
  return NAME.test(execution) || isOfItsRule(input);
}

/** Whether a run failed because the temporary rule of `verify` gave it an input that no run accepts. */
export function failedOnPurpose(input: unknown, error: string | null | undefined): boolean {
  return error === 'InvalidInput' && isOfItsRule(input);
}

function isOfItsRule(input: unknown): boolean {
  return ownValue(input, 'verify') !== undefined;
}
