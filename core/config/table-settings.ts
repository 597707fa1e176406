import * as z from 'zod';
import { WHOLE_CORE_MB } from '../whole-core.ts';
import { columnName, columnNames, whole } from './common-settings.ts';
import { functionMemory, MEMORY_NOTE } from './file-settings.ts';

/** The settings of an entity's table: the Parquet file that WriteTable makes from the published file. */

const dateFormat = z.enum(['YYYY-MM-DD', 'DD/MM/YYYY', 'DD.MM.YYYY', 'DD-MM-YYYY', 'MM/DD/YYYY', 'YYYYMMDD']);
const timestampFormat = z.enum([
  'YYYY-MM-DD HH:mm:ss',
  'DD/MM/YYYY HH:mm',
  'DD/MM/YYYY HH:mm:ss',
  'DD.MM.YYYY HH:mm',
  'DD.MM.YYYY HH:mm:ss',
  'MM/DD/YYYY HH:mm',
  'MM/DD/YYYY HH:mm:ss',
]);
/** The most digits of a decimal: 18 digits fit into 64 bits. */
const MOST_DIGITS = 18;

const TYPES = `must be "text", "integer", "double", "boolean", "date", "timestamp", {"type":"decimal","precision":${MOST_DIGITS},"scale":2} with at most ${MOST_DIGITS} digits, or {"type":"date","format":…} (or "timestamp") with a format from docs/tables.md`;

const columnType = z.union(
  [
    z.enum(['text', 'integer', 'double', 'boolean', 'date', 'timestamp']),
    z
      .strictObject({
        type: z.literal('decimal'),
        precision: whole(1, MOST_DIGITS),
        scale: whole(0, MOST_DIGITS),
      })
      .refine(({ precision, scale }) => scale <= precision, { error: TYPES }),
    z.strictObject({ type: z.literal('date'), format: dateFormat }),
    z.strictObject({ type: z.literal('timestamp'), format: timestampFormat }),
  ],
  { error: TYPES },
);

export const tableSettingsSchema = z.strictObject({
  columns: z
    .record(columnName, columnType)
    .default({})
    .describe('Types of columns, by their names at the CRM (docs/tables.md); all others are text.'),
  except: columnNames.optional().describe('Columns that the table leaves out. The file keeps them.'),
  hash: columnNames
    .optional()
    .describe('Columns that the table has only as keyed hashes (HMAC-SHA-256). The file keeps the values.'),
  misfit: z
    .enum(['null', 'stop'])
    .default('null')
    .describe(
      'A value that does not fit the type of its column: `null` leaves it out and counts it, `stop` writes no table (`TableNotWritten`).',
    ),
  version: whole(1, 999)
    .default(1)
    .describe('From 2 on, tables are below `tables/vN/`: raise it when the type of a column changes.'),
});
export type TableSettings = z.infer<typeof tableSettingsSchema>;
export type ColumnType = z.infer<typeof columnType>;

/** The default is a whole core, which compression and parsing use. */
export const tableMemorySchema = functionMemory
  .default(WHOLE_CORE_MB)
  .describe(`Memory of WriteTable and WriteChanges, MB. ${WHOLE_CORE_MB} MB have a whole CPU. ${MEMORY_NOTE}`);
