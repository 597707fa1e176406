import * as z from 'zod';
import { isSchedule } from '../schedule/schedule-expression.ts';
import { changeSettingsSchema } from './change-settings.ts';
import { configuredColumns } from './configured-columns.ts';
import { driftSettingsSchema, guardsSchema, opaqueSchema } from './gate-settings.ts';
import { localTime } from './nightly-settings.ts';
import { ownPollingSchema, type Polling } from './polling-settings.ts';
import { misplacedDates } from './relative-date.ts';
import { refuse, requestKeys } from './request-keys.ts';
import { tableSettingsSchema } from './table-settings.ts';

/** The part of a deployment's configuration that is about one entity. */

// CloudWatch looks back seven days at most.
export const freshnessHours = z.int().min(1).max(168);

export const entitySettingsSchema = z.strictObject({
  columns: configuredColumns.default('all'),
  sorts: z.optional(requestKeys.sorts),
  filters: z.optional(requestKeys.filters),
  filtersOperator: z.optional(requestKeys.filtersOperator),
  sendEmail: z.optional(requestKeys.sendEmail),
  extra: z
    .record(z.string(), z.unknown())
    .check(refuse(misplacedDates))
    .default({})
    .describe('Further keys of the request body, sent as they are.'),
  enabled: z.boolean().default(true).describe('Whether the nightly rule is on. Runs by hand always work.'),
  schedule: z
    .string()
    .refine(isSchedule, { error: 'must be an EventBridge expression in UTC: cron(30 1 * * ? *), rate(1 hour)' })
    .optional()
    .describe('EventBridge expression instead of the start from `nightly`: `cron(…)` in UTC, or `rate(…)`.'),
  at: localTime,
  polling: ownPollingSchema,
  freshnessHours: freshnessHours
    .optional()
    .describe('Hours without a published export after which this entity raises an alarm of its own.'),
  guards: guardsSchema.prefault({}),
  drift: driftSettingsSchema.prefault({}),
  opaque: opaqueSchema,
  tables: tableSettingsSchema
    .optional()
    .describe('Makes a table of every published file, and describes it in a database of AWS Glue (docs/tables.md).'),
  changes: changeSettingsSchema
    .optional()
    .describe('Writes a feed after every night: what changed since the night before, row by row (docs/changes.md).'),
});

/** What the configuration says of an entity, with its defaults. */
export type EntitySettings = z.infer<typeof entitySettingsSchema>;

/** All that counts for an entity: nothing of it is to be looked for elsewhere. */
export type EntityPlan = Omit<EntitySettings, 'polling'> & { polling: Polling };

/** @param polling of the deployment, which counts for what the entity does not say */
export function planFrom(settings: EntitySettings, polling: Polling): EntityPlan {
  return { ...settings, polling: { ...polling, ...settings.polling } };
}
