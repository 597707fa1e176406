import * as z from 'zod';
import { folded } from '../folded.ts';
import { exceptedOf, onlyOf } from './chosen-columns.ts';
import type { ConfiguredColumns } from './configured-columns.ts';
import { dependsOnDate } from './relative-date.ts';
import type { TableSettings } from './table-settings.ts';

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
    .describe('The column that a row is known by from night to night, or the columns that it is known by together.'),
  ignore: columnNames
    .optional()
    .describe('Columns whose changes are none: a row in which only they differ is not in the feed.'),
  maxRemoved: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe(
      'Largest share of the keys that may be gone from one table to the next, of at least 20 keys. Of more nothing is told (`ChangesStopped`).',
    ),
});
type ChangeSettings = z.infer<typeof changeSettingsSchema>;

interface Configured {
  changes?: ChangeSettings | undefined;
  tables?: TableSettings | undefined;
  columns: ConfiguredColumns;
  filters?: unknown;
}

interface Contradiction {
  path: string[];
  message: string;
}

/** What is left out, or ignored, is so however it is spelt. */
const isIn = (names: readonly string[], name: string) => names.map(folded).includes(folded(name));

/** What a feed cannot be made of. */
export function changeContradictions(plan: Configured, place: string[]): Contradiction[] {
  const { changes, tables, columns, filters } = plan;
  if (!changes) return [];
  const { key, ignore = [] } = changes;
  const left = exceptedOf({ columns });
  const only = onlyOf({ columns });
  const out = tables?.except ?? [];
  const whole: [refused: boolean, message: string][] = [
    [tables === undefined, 'needs `tables`: a feed is made of two of them'],
    [
      dependsOnDate(filters),
      'must not be beside a "$date" in `filters`: of another day there are other rows, and the others would be told as deleted',
    ],
  ];
  const rules: [refused: (name: string) => boolean, why: string][] = [
    [(name) => isIn(out, name), 'which `tables.except` leaves out of the table'],
    [(name) => isIn(left, name), 'which `columns.except` of the entity leaves out'],
    [(name) => only !== undefined && !only.includes(name), 'which `columns` of the entity does not request'],
  ];
  const named = Object.entries({ key, ignore }).flatMap(([setting, names]) =>
    rules.flatMap(([refused, why]) =>
      names.filter(refused).map((name) => ({ setting, message: `names "${name}", ${why}` })),
    ),
  );
  const both = key.filter((name) => isIn(ignore, name)).map((name) => `names "${name}", which is a part of \`key\``);
  const at = (message: string, ...setting: string[]) => ({ path: [...place, 'changes', ...setting], message });
  return [
    ...whole.flatMap(([refused, message]) => (refused ? [at(message)] : [])),
    ...named.map(({ setting, message }) => at(message, setting)),
    ...both.map((message) => at(message, 'ignore')),
  ];
}
