import * as z from 'zod';
import { crmSchema, networkSchema } from './crm-settings.ts';
import { entitySchema } from './entities.ts';
import { entitySettingsSchema, freshnessHours } from './entity-settings.ts';
import { filesSchema } from './file-settings.ts';
import { nightlySchema, timeZone } from './nightly-settings.ts';
import { pollingSchema } from './polling-settings.ts';
import { readersSchema } from './reader-settings.ts';
import { tableMemorySchema } from './table-settings.ts';

/** The configuration of a deployment as it is written, `config/NAME.json`: one setting after the other. */

const updatesSchema = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .max(40)
    .default(8)
    .describe(
      'Chunks of one batch that are applied at the same time. In a new account, with 10 functions at once, set at most 3.',
    ),
  maxRate: z
    .number()
    .min(0.1)
    .max(1000)
    .default(20)
    .describe('Changes per second that one batch may send. Two batches at once send twice as many.'),
  retentionDays: z.int().min(4).max(3650).default(30).describe('Days that batches and their results are kept.'),
  allowNull: z
    .boolean()
    .default(false)
    .describe('Whether an update may send `null` to empty a field. If false, files with `null` are refused.'),
  confirmation: z
    .enum(['answer', 'status'])
    .default('answer')
    .describe(
      'What confirms an update. `answer`: a 200 with a JSON object without an error, another id or another value of a sent field. `status`: ids and values are ignored, for a CRM that answers the old record; errors still count.',
    ),
});

const alarmsSchema = z.strictObject({
  email: z
    .array(z.email())
    .refine((addresses) => new Set(addresses).size === addresses.length, { error: 'names an address twice' })
    .default([])
    .describe('Addresses that get a mail for every alarm and failed run. Each must confirm a first mail from AWS.'),
  freshnessHours: freshnessHours
    .optional()
    .describe(
      'Hours without a published export after which an entity with `rate(…)` or several starts a day raises its own alarm. Default: 26, or its deadline in hours plus 25 if that is more; an hour more with local time.',
    ),
  runbookUrl: z
    .string()
    .regex(/^[^\s#]+$/, 'an address or a path without blanks and without #')
    .default('docs/runbook.md')
    .describe(
      'Address of the runbook, to which every alarm links: give the https address of the file in your repository or wiki.',
    ),
});

export const settingsSchema = z.strictObject({
  $schema: z.string().optional(),
  local: z
    .boolean()
    .default(false)
    .describe('Allows http and loopback addresses. Such a configuration deploys to a loopback address only.'),
  crm: crmSchema,
  network: networkSchema,
  customerUpdates: z
    .boolean()
    .default(false)
    .describe(
      'Adds the state machine CustomerUpdates, and the scope `customers:update` to those that `authorize` requests.',
    ),
  updates: updatesSchema.prefault({}),
  timeZone,
  nightly: nightlySchema,
  polling: pollingSchema.prefault({}),
  files: filesSchema.prefault({}),
  retentionDays: z.int().min(1).max(3650).default(90).describe('Days that files, tables, feeds and pointers are kept.'),
  tableMemoryMB: tableMemorySchema,
  readers: readersSchema,
  logRetentionDays: z
    .literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827])
    .default(365)
    .describe('Days that log lines, and the access logs of the bucket, are kept.'),
  alarms: alarmsSchema.prefault({}),
  dashboard: z
    .boolean()
    .default(false)
    .describe('Adds a CloudWatch dashboard and the metrics that only it reads: $3.44 a month.'),
  entities: z.record(entitySchema, entitySettingsSchema.prefault({})).prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
