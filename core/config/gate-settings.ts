import * as z from 'zod';
import { OPAQUE_KINDS } from './file-formats.ts';

/** The parts of an entity's configuration by which the gate stops a file, or a run, or does not look. */

const share = z.number().min(0).max(1);

/** What a file must show before readers get it. */
export const guardsSchema = z.strictObject({
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
    .describe('How many times the usual rows a file may have; fewer than 20 usual rows count as 20.'),
  maxIrregularShare: share
    .default(0.01)
    .describe('Largest share of records that may have another number of fields than the first.'),
});
export type GuardSettings = z.infer<typeof guardsSchema>;

const policy = (ofWhat: string) =>
  z
    .enum(['accept', 'warn', 'stop'])
    .default('warn')
    .describe(`${ofWhat}: \`accept\`, \`warn\` (in the manifest, with an alarm) or \`stop\` (exports nothing).`);

/** What follows where the columns that the CRM lists are not those of the last published export. */
export const driftSettingsSchema = z.strictObject({
  added: policy('The CRM adds a column'),
  removed: policy('The CRM removes a column'),
  retyped: policy('A column has another type'),
});
export type DriftPolicy = z.infer<typeof driftSettingsSchema>;

export const opaqueSchema = z
  .array(z.enum(OPAQUE_KINDS))
  .refine((kinds) => new Set(kinds).size === kinds.length, { error: 'names a kind twice' })
  .default([])
  .describe(
    'Kinds of files to publish unread: `xls` (Excel 97), `json`, `archive` (a zip of anything but one CSV file or spreadsheet). Not allowed beside `columns.except`, `columns.required`, a `drift` of `stop`, `guards.minRows` or `tables`.',
  );
