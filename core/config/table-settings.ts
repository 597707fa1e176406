import * as z from 'zod';
import { meansOrContains } from '../folded.ts';
import { WHOLE_CORE_MB } from '../whole-core.ts';
import { exceptedOf, isHeaderless, labelsOf, onlyOf } from './chosen-columns.ts';
import type { ConfiguredColumns } from './configured-columns.ts';
import { functionMemory, MEMORY_NOTE } from './file-settings.ts';

/** The part of an entity's configuration that is about its table: the Parquet file that WriteTable makes of the published file. */

const columnName = z.string().min(1).max(200);
const columnNames = z
  .array(columnName)
  .min(1)
  .max(200)
  .refine((names) => new Set(names).size === names.length, { error: 'names a column twice' });

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
/** 18 digits fit into 64 bits. */
const MOST_DIGITS = 18;

const TYPES = `must be "text", "integer", "double", "boolean", "date", "timestamp", {"type":"decimal","precision":${MOST_DIGITS},"scale":2} with at most ${MOST_DIGITS} digits, or {"type":"date","format":…} (or "timestamp") with a format of docs/tables.md`;

const columnType = z.union(
  [
    z.enum(['text', 'integer', 'double', 'boolean', 'date', 'timestamp']),
    z
      .strictObject({
        type: z.literal('decimal'),
        precision: z.int().min(1).max(MOST_DIGITS),
        scale: z.int().min(0).max(MOST_DIGITS),
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
    .describe(
      'Types of columns, by their names at the CRM; all others are text. `"text"`, `"integer"`, `"double"`, `"boolean"`, `"date"`, `"timestamp"`, or an object (docs/tables.md).',
    ),
  except: columnNames.optional().describe('Columns that the table does not have. The file of the run keeps them.'),
  hash: columnNames
    .optional()
    .describe(
      'Columns that the table has as a keyed hash (HMAC-SHA-256, 64 hexadecimal digits). The file of the run keeps their values.',
    ),
  misfit: z
    .enum(['null', 'stop'])
    .default('null')
    .describe(
      'A value that does not fit the type of its column: `null` leaves it out and counts it, `stop` writes no table (`TableNotWritten`).',
    ),
  version: z
    .int()
    .min(1)
    .max(999)
    .default(1)
    .describe('From 2 on, tables are below `tables/vN/`: raise it when the type of a column changes.'),
});
export type TableSettings = z.infer<typeof tableSettingsSchema>;
export type ColumnType = z.infer<typeof columnType>;

/** Compression and parsing use a whole core. */
export const tableMemorySchema = functionMemory
  .default(WHOLE_CORE_MB)
  .describe(
    `Memory of WriteTable and WriteChanges, which decides their share of a CPU: ${WHOLE_CORE_MB} are one, and more helps little. ${MEMORY_NOTE} See docs/limits.md.`,
  );

interface Contradiction {
  path: string[];
  message: string;
}

/** Columns of a table that contradict each other, or the columns that are requested. */
export function tableContradictions(
  { tables, columns: requested }: { tables?: TableSettings | undefined; columns: ConfiguredColumns },
  place: string[],
): Contradiction[] {
  if (!tables) return [];
  const { columns, except = [], hash = [] } = tables;
  const typed = Object.keys(columns);
  const left = exceptedOf({ columns: requested });
  const only = onlyOf({ columns: requested });
  const headerless = isHeaderless({ columns: requested });
  const nameless = Object.entries(labelsOf({ columns: requested })).flatMap(([text, to]) =>
    to === null ? [text] : [],
  );
  const isNameless = (name: string) => nameless.some((text) => meansOrContains(text, name));
  const unknown = (name: string) => only !== undefined && !only.includes(name);
  const rules: [
    key: 'columns' | 'except' | 'hash',
    names: string[],
    refused: (name: string) => boolean,
    why: string,
  ][] = [
    ['hash', hash, (name) => except.includes(name), 'which `except` leaves out of the table'],
    ['hash', hash, (name) => typed.includes(name), 'which `columns` gives a type: a hash is text'],
    ['columns', typed, (name) => except.includes(name), 'which `except` leaves out of the table'],
    ['columns', typed, (name) => left.includes(name), 'which `columns.except` of the entity leaves out'],
    ['hash', hash, (name) => left.includes(name), 'which `columns.except` of the entity leaves out'],
    ['hash', hash, isNameless, 'which `columns.labels` of the entity maps to null'],
    ['except', except, isNameless, 'which `columns.labels` of the entity maps to null'],
    ['except', except, () => headerless, 'which files without a header (`columns.header`) do not tell'],
    ['hash', hash, () => headerless, 'which files without a header (`columns.header`) do not tell'],
    ['columns', typed, unknown, 'which `columns` of the entity does not request'],
    ['except', except, unknown, 'which `columns` of the entity does not request'],
    ['hash', hash, unknown, 'which `columns` of the entity does not request'],
  ];
  return rules.flatMap(([key, names, refused, why]) =>
    names.filter(refused).map((name) => ({ path: [...place, 'tables', key], message: `names "${name}", ${why}` })),
  );
}
