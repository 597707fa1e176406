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
    .describe('The columns that are requested, in order. Without it: every column that the CRM lists.'),
  except: z
    .array(columnName)
    .min(1)
    .max(200)
    .refine((names) => names.every(isPlainLabel), { error: 'must be plain names or labels of columns' })
    .optional()
    .describe(
      'Columns that are never requested, whatever the CRM lists and whatever an input asks for: by name, or however the CRM writes it, or by label. One that names nothing in the list of the CRM stops the run. A file is published only where every cell of its header is a listed name or label that is not left out, or a text of `labels`; any other is quarantined for good.',
    ),
  required: columnNames.optional().describe('Columns without which nothing is requested, and no file published.'),
  labels: z
    .record(z.string().min(1).max(200), columnName.nullable())
    .refine((labels) => Object.keys(labels).length <= MOST_LABELS, { error: `has more than ${MOST_LABELS} texts` })
    .optional()
    .describe(
      'Texts in the header of a file that the CRM does not list, and the field that each one names: `{"Mobile": "cellNumber"}`; `null` for a column that belongs to no field. A new text makes no other plan.',
    ),
  header: z
    .enum(['names', 'none'])
    .optional()
    .describe(
      '`"none"`: files have no header, their columns are those of the request in order. Not beside `except` or `labels`.',
    ),
  sheet: sheetName
    .optional()
    .describe('The sheet of a workbook that is read. Other sheets may not hold text for that.'),
  otherSheets: z
    .array(sheetName)
    .min(1)
    .max(50)
    .optional()
    .describe('Sheets that a workbook may have besides, whatever is in them, hidden ones too.'),
});

/** The columns of the configuration; the input of an execution has `"all"` or a list. */
export const configuredColumns = z
  .union([requestKeys.columns, chosenColumns])
  .describe(
    '`"all"`: every column that the CRM lists (`GET /{entity}/fields`); a list of names, in order; or `{"only": […], "except": […], "required": […], "labels": {…}, "header": …, "sheet": …, "otherSheets": […]}` (docs/configuration.md, "Columns that are left out, or must be there").',
  );
export type ConfiguredColumns = z.infer<typeof configuredColumns>;
