import * as z from 'zod';
import { isSchedule, START_UTC } from '../schedule/next-starts.ts';
import { isSafeLabel } from '../suggestion.ts';
import type { ChosenColumns } from './chosen-columns.ts';
import { columnName, columnNames, listOf, once, share, whole } from './common-settings.ts';
import { OPAQUE_KINDS } from './file-formats.ts';
import { misplacedDates } from './relative-date.ts';
import { reportProblems, requestedColumns, requestKeys } from './request-keys.ts';
import { tableSettingsSchema } from './table-settings.ts';

/** The settings of an entity that make the gate stop a file or a run, or skip its checks. */

/** The conditions that a file must meet before it is published. */
const guardsSchema = z.strictObject({
  minRows: z
    .int()
    .min(0)
    .optional()
    .describe('A file with fewer rows, or whose rows cannot be counted, is quarantined.'),
  maxShrink: share
    .default(0.5)
    .describe(
      'Largest share of the usual rows that a file may lack. Usual is the median of up to seven published files of other dates, if it is at least 20.',
    ),
  maxGrowth: z
    .number()
    .min(1)
    .default(10)
    .describe('Largest multiple of the usual rows that a file may have; fewer than 20 usual rows count as 20.'),
  maxIrregularShare: share
    .default(0.01)
    .describe('Largest share of records that may have more or fewer fields than the first.'),
});
export type GuardSettings = z.infer<typeof guardsSchema>;

const policy = (ofWhat: string) =>
  z
    .enum(['accept', 'warn', 'stop'])
    .default('warn')
    .describe(`${ofWhat}: \`accept\`, \`warn\` (in the manifest, with an alarm) or \`stop\` (exports nothing).`);

/** What to do when the CRM lists other columns than at the last published export. */
const driftSettingsSchema = z.strictObject({
  added: policy('The CRM adds a column'),
  removed: policy('The CRM removes a column'),
  retyped: policy('A column has another type'),
});
export type DriftPolicy = z.infer<typeof driftSettingsSchema>;

/** The settings of an entity's feed, which WriteChanges makes from two tables. */

const changeSettingsSchema = z.strictObject({
  key: z
    .union([columnName.transform((name) => [name]), columnNames], { error: 'must name a column, or a list of columns' })
    .describe('The column, or the columns together, that identify a row.'),
  ignore: columnNames.optional().describe('Columns whose changes do not count.'),
  maxRemoved: share
    .default(0.2)
    .describe(
      'Largest share of keys that may disappear from one table to the next. From 20 keys on, a larger share stops the feed (`ChangesStopped`).',
    ),
});

/** The settings for waiting for the CRM. The deployment has all of them, and an entity may override some. */

/** 500 waits of the largest length fill the longest deadline. `test/lib/history-budget.slow.test.ts` relies on it. */
export const LARGEST_DEADLINE_IN_WAITS = 500;

/** A CRM that restarts at night is available again after this time. Local deployments may set a shorter one. */
export const LEAST_CREATE_PAUSE_SECONDS = 300;

const polling = {
  firstWaitSeconds: whole(1, 3600).describe('First wait between two status checks.'),
  largestWaitSeconds: whole(1, 3600).describe(
    'Longest wait. Each wait is 1.5 times the previous wait, up to this limit.',
  ),
  deadlineSeconds: whole(5, 86_400).describe(
    'A run gives up this long after its start. At most 500 times the largest wait.',
  ),
  createAgainSeconds: whole(1, 3600).describe(
    'Shortest time before an unanswered export request is sent a second time; `largestWaitSeconds`, if that is longer. Below 300 only if `local` is true.',
  ),
};

export const pollingSchema = z.strictObject({
  firstWaitSeconds: polling.firstWaitSeconds.default(15),
  largestWaitSeconds: polling.largestWaitSeconds.default(300),
  deadlineSeconds: polling.deadlineSeconds.default(21_600),
  createAgainSeconds: polling.createAgainSeconds.default(LEAST_CREATE_PAUSE_SECONDS),
});
export type Polling = z.infer<typeof pollingSchema>;

/** The settings for the start of the night. */

export const timeZone = z
  .string()
  .refine(
    (zone) => {
      try {
        const { timeZone: meant } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions();
        // Node.js reads IST as the time of India, and BST as that of Bangladesh.
        return meant === 'UTC' || !/^[a-z]{3}$/i.test(zone);
      } catch {
        return false;
      }
    },
    { error: 'must be an IANA time zone such as "Asia/Jerusalem" or "UTC", and not an abbreviation such as "IST"' },
  )
  .default('UTC')
  .describe('IANA zone of local times and of the dates of runs.');

const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as "01:30"');

export const nightlySchema = z
  .strictObject({
    at: time
      .optional()
      .describe(`Start of the first entity in local time, in \`timeZone\`, all year. Default: ${START_UTC} UTC.`),
    spreadMinutes: whole(0, 60)
      .default(7)
      .describe(
        'Minutes between the starts of two entities. Starts before and after midnight in `timeZone` get two dates.',
      ),
  })
  .prefault({});

const requestedName = z.string().min(1);
const MOST_REQUESTED = 1000;
const MOST_LABELS = 1000;
/** Long enough for Excel, which allows 31 characters. */
const sheetName = z.string().min(1).max(100);

const chosenColumns = z.strictObject({
  only: listOf(requestedName, MOST_REQUESTED, 'a column')
    .optional()
    .describe('The columns to request, in order. Default: every column that the CRM lists.'),
  except: z
    .array(requestedName)
    .min(1)
    .max(200)
    .refine((names) => names.every(isSafeLabel), { error: 'must be names or labels of columns, of a few words' })
    .optional()
    .describe(
      'Columns to leave out, by name or label. No run requests them, and a file that has one of them is quarantined and cannot be released. An entry that the CRM does not list stops the run.',
    ),
  required: z
    .array(requestedName)
    .min(1)
    .max(MOST_REQUESTED)
    .optional()
    .describe('Required columns: without them, no export is requested and no file is published.'),
  labels: z
    .record(columnName, requestedName.nullable())
    .refine((labels) => Object.keys(labels).length <= MOST_LABELS, { error: `has more than ${MOST_LABELS} texts` })
    .optional()
    .describe(
      'Header texts that the CRM does not list, and the field that each one names: `{"Mobile": "cellNumber"}`; `null` for a column that belongs to no field. A new text does not change the plan.',
    ),
  header: z
    .enum(['names', 'none'])
    .optional()
    .describe(
      '`"none"`: files have no header, and their columns are those of the request in order. Not allowed with `except` or `labels`.',
    ),
  sheet: sheetName
    .optional()
    .describe('The sheet of a workbook to read. With `except`, other sheets must not contain text.'),
  otherSheets: z
    .array(sheetName)
    .min(1)
    .max(50)
    .optional()
    .describe('Further sheets that a workbook may have, even hidden ones, with any content.'),
});

/** The columns of the configuration; the input of an execution has `"all"` or a list. */
const configuredColumns = z
  .union([requestedColumns, chosenColumns], {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? undefined
        : 'must be "all", a list of names, or an object such as {"except": ["nationalId"]}',
  })
  .describe(
    '`"all"`: every column that the CRM lists; a list of names, in order; or an object (docs/configuration.md, "Columns that are left out, or must be there").',
  );

// CloudWatch looks back seven days at most.
export const freshnessHours = whole(1, 168);

export const entitySettingsSchema = z.strictObject({
  ...requestKeys,
  columns: configuredColumns.default('all'),
  extra: z
    .record(z.string(), z.unknown())
    .check(reportProblems(misplacedDates))
    .default({})
    .describe('Further keys of the request body, sent as they are.'),
  enabled: z.boolean().default(true).describe('Whether the nightly rule is on. Runs by hand always work.'),
  schedule: z
    .string()
    .refine(isSchedule, {
      error:
        'must be cron(MINUTE HOUR DAY MONTH WEEKDAY YEAR) in UTC, with "?" as DAY or WEEKDAY, such as cron(30 1 * * ? *), or a rate: rate(1 hour), rate(2 hours)',
    })
    .optional()
    .describe('EventBridge expression instead of the start from `nightly`: `cron(…)` in UTC, or `rate(…)`.'),
  at: time
    .optional()
    .describe(
      'Start in local time, instead of the start from `nightly`. If clocks skip this time, the run starts an hour later; if clocks show it twice, the first time counts.',
    ),
  polling: z
    .strictObject(polling)
    .partial()
    .optional()
    .describe('Overrides single values of `polling` for this entity.'),
  freshnessHours: freshnessHours
    .optional()
    .describe('Hours without a published export after which this entity raises an alarm of its own.'),
  guards: guardsSchema.prefault({}),
  drift: driftSettingsSchema.prefault({}),
  opaque: z
    .array(z.enum(OPAQUE_KINDS))
    .refine(...once('a kind'))
    .default([])
    .describe(
      'Kinds of files to publish unread: `xls` (Excel 97), `json`, `archive` (any zip except one with a single CSV file or spreadsheet). Not with `columns.except`, `columns.required`, a `drift` of `stop`, `guards.minRows` or `tables`.',
    ),
  tables: tableSettingsSchema
    .optional()
    .describe('Makes a table of every published file, and describes it in a database of AWS Glue (docs/tables.md).'),
  changes: changeSettingsSchema
    .optional()
    .describe('Writes a feed after every night: what changed since the night before, row by row (docs/changes.md).'),
});

/** The complete settings of an entity, including those that it takes from the deployment. */
export type EntityPlan = Omit<z.infer<typeof entitySettingsSchema>, 'polling' | 'columns'> & {
  polling: Polling;
  columns: ChosenColumns;
};
