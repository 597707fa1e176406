import * as z from 'zod/mini';
import { entitySchema } from '../config/entities.ts';

const inputSchema = z.object({
  entity: entitySchema,
  date: z.optional(z.iso.date()),
  scheduledFor: z.optional(z.iso.datetime({ offset: true })),
  // What has one of these is no export.
  release: z.optional(z.never()),
  table: z.optional(z.never()),
});
export type NightInput = z.infer<typeof inputSchema>;

/** The part of an input by which the night of a run is known; `null` where it names none. */
export function nightInput(input: unknown): NightInput | null {
  return inputSchema.safeParse(input).data ?? null;
}
