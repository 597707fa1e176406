import * as z from 'zod';

/** The part of an entity's configuration that is about its feed of changes: what WriteChanges makes of two tables. */

const columnName = z.string().min(1).max(200);
const columnNames = z
  .array(columnName)
  .min(1)
  .max(200)
  .refine((names) => new Set(names).size === names.length, { error: 'names a column twice' });

export const changeSettingsSchema = z.strictObject({
  key: z
    .union([columnName.transform((name) => [name]), columnNames])
    .describe('The column, or the columns together, that identify a row.'),
  ignore: columnNames
    .optional()
    .describe('Columns whose changes do not count: a row in which only they differ is not in the feed.'),
  maxRemoved: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe(
      'Largest share of the keys that may disappear from one table to the next. If more do, of at least 20 keys, no feed is written (`ChangesStopped`).',
    ),
});
