import * as z from 'zod/mini';
import { entitySchema } from '../config/entities.ts';
import { PLAN_PARTS } from '../plan-parts.ts';

const inputSchema = z.object({
  entity: entitySchema,
  date: z.optional(z.iso.date()),
  scheduledFor: z.optional(z.iso.datetime({ offset: true })),
  /** The input has a plan of its own, which is not kept. */
  ownPlan: z.optional(z.literal(true)),
  // What has one of these is no export.
  release: z.optional(z.never()),
  table: z.optional(z.never()),
});
export type NightInput = z.infer<typeof inputSchema>;

/** The part of an input by which the night of a run is known; `null` where it names none. */
export function nightInput(input: unknown): NightInput | null {
  const { data } = inputSchema.safeParse(input);
  if (!data) return null;
  return hasPlan(input) ? { ...data, ownPlan: true } : data;
}

function hasPlan(input: unknown): boolean {
  return typeof input === 'object' && input !== null && PLAN_PARTS.some((key) => key in input);
}
