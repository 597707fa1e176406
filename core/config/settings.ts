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
      'Chunks of one batch that are applied at the same time. A new account runs 10 functions at once: at most 3 fit beside seven nightly runs.',
    ),
  maxRate: z
    .number()
    .min(0.1)
    .max(1000)
    .default(20)
    .describe(
      'Changes per second that one batch may send. An input may request fewer. Two batches at once send twice as many.',
    ),
  retentionDays: z
    .int()
    .min(4)
    .max(3650)
    .default(30)
    .describe(
      'Days that batches and their results are kept. At least 4: a batch may take two and a half, and S3 counts from midnight.',
    ),
  allowNull: z
    .boolean()
    .default(false)
    .describe(
      'Whether an update may send `null` to empty a field. The interface document does not mention `null`. When false, files with `null` are refused.',
    ),
  confirmation: z
    .enum(['answer', 'status'])
    .default('answer')
    .describe(
      'What confirms an update. `answer`: 200 with a JSON object that contradicts nothing: no error, no other id, no other value of a field that was sent. `status`: ids and values in the answer are ignored, for a CRM that answers the record of before; errors in it still count.',
    ),
});

const alarmsSchema = z.strictObject({
  email: z
    .array(z.email())
    .refine((addresses) => new Set(addresses).size === addresses.length, { error: 'names an address twice' })
    .default([])
    .describe('Addresses that get a mail for every alarm. AWS first sends each a mail that must be confirmed.'),
  freshnessHours: freshnessHours
    .optional()
    .describe(
      'An entity that no night waits for, because its schedule is `rate(…)` or starts it several times a day, raises an alarm of its own after this many hours without a published export. Default for each: 26, or its deadline in hours plus 25 if that is more; an hour more where it starts by local time in another zone than UTC. A smaller value counts too, with a warning at synthesis. Every other entity is told by the alarm of the night.',
    ),
  runbookUrl: z
    .string()
    .regex(/^[^\s#]+$/, 'an address or a path without blanks and without #')
    .default('docs/runbook.md')
    .describe(
      'Where the runbook can be read: every alarm links to its entry there. Give the https address of the file in your repository or wiki, because the default is not a link in a mail.',
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
      'Whether customers can be updated: adds the state machine CustomerUpdates, and the scope `customers:update` to those that `authorize` requests.',
    ),
  updates: updatesSchema.prefault({}),
  timeZone,
  nightly: nightlySchema,
  polling: pollingSchema.prefault({}),
  files: filesSchema.prefault({}),
  retentionDays: z.int().min(1).max(3650).default(90).describe('Days that runs and pointers are kept.'),
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
    .describe(
      'Whether the deployment has a CloudWatch dashboard, and the metrics that nothing else reads: $3.44 a month. Of an account three dashboards are free, but only such of at most 50 metrics each; this one reads more. Alarms, `status` and `report` do without.',
    ),
  entities: z.record(entitySchema, entitySettingsSchema.prefault({})).prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
