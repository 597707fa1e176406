import * as z from 'zod/mini';
import { entitySchema } from '../config/entity-schema.ts';
import { requestKeys } from '../config/request-keys.ts';
import { ignoredKeys, inputOf } from '../step/machine-input.ts';

/** The input from a rule or a person. All keys except `entity` have defaults in the configuration. */
const inputSchema = z.strictObject({
  entity: entitySchema,
  /** The event time of the rule that started the run. */
  scheduledFor: z.optional(z.iso.datetime({ offset: true })),
  /** The date of the run; default: the date of `scheduledFor`, or of the start, in the deployment's time zone. */
  date: z.optional(z.iso.date()),
  ...requestKeys,
  /** Publishes a run whose plan differs from the configured one, for its date only. */
  publish: z.optional(z.boolean()),
  /** A failed run. Its export is used if request and date are the same and the CRM still has it. */
  adopt: z.optional(z.string().check(z.minLength(1), z.maxLength(80))),
  /** Continues the run despite changed columns at which the configuration stops. */
  acceptSchema: z.optional(z.boolean()),
  ...ignoredKeys,
});
export type ExportInput = z.infer<typeof inputSchema>;

/** Whether an input has only the keys of a rule: an entity and the event time in UTC. Such a run claims the start. */
export function isOfRule(input: object): boolean {
  const isTime = 'scheduledFor' in input && /Z$/.test(String(input.scheduledFor));
  return isTime && 'entity' in input && Object.keys(input).length === 2;
}

/** @throws RunError `InvalidInput` */
export function parseInput(input: unknown): ExportInput {
  return inputOf(inputSchema, input);
}
