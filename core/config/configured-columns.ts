import * as z from 'zod';
import { isPlainLabel } from '../suggestion.ts';
import { requestKeys } from './request-keys.ts';

const columnName = z.string().min(1);
const columnNames = z.array(columnName).min(1).max(1000);
const MOST_LABELS = 1000;
/** Excel allows 31 characters. */
const sheetName = z.string().min(1).max(100);

const chosenColumns = z.strictObject({
  only: columnNames
    .refine((names) => new Set(names).size === names.length, { error: 'names a column twice' })
    .optional()
    .describe('The columns to request, in order. Default: every column that the CRM lists.'),
  except: z
    .array(columnName)
    .min(1)
    .max(200)
    .refine((names) => names.every(isPlainLabel), { error: 'must be plain names or labels of columns' })
    .optional()
    .describe(
      'Columns to leave out, by name or label: no run requests them, and a file that has one is quarantined for good. An entry that names nothing in the list of the CRM stops the run.',
    ),
  required: columnNames
    .optional()
    .describe('Columns that must be there: without them nothing is requested, and no file published.'),
  labels: z
    .record(z.string().min(1).max(200), columnName.nullable())
    .refine((labels) => Object.keys(labels).length <= MOST_LABELS, { error: `has more than ${MOST_LABELS} texts` })
    .optional()
    .describe(
      'Texts in the header of a file that the CRM does not list, and the field that each one names: `{"Mobile": "cellNumber"}`; `null` for a column that belongs to no field. A new text does not change the plan.',
    ),
  header: z
    .enum(['names', 'none'])
    .optional()
    .describe(
      '`"none"`: files have no header, and their columns are those of the request in order. Not allowed beside `except` or `labels`.',
    ),
  sheet: sheetName
    .optional()
    .describe('The sheet of a workbook to read. Beside `except`, other sheets still may not hold text.'),
  otherSheets: z
    .array(sheetName)
    .min(1)
    .max(50)
    .optional()
    .describe('Further sheets that a workbook may have, with any content, also hidden ones.'),
});

/** The columns of the configuration; the input of an execution has `"all"` or a list. */
export const configuredColumns = z
  .union([requestKeys.columns, chosenColumns])
  .describe(
    '`"all"`: every column that the CRM lists; a list of names, in order; or an object (docs/configuration.md, "Columns that are left out, or must be there").',
  );
export type ConfiguredColumns = z.infer<typeof configuredColumns>;
