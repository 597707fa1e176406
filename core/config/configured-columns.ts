import * as z from 'zod';
import { isPlainName } from '../suggestion.ts';
import { requestKeys } from './request-keys.ts';

const columnName = z.string().min(1);
const columnNames = z.array(columnName).min(1).max(1000);

const chosenColumns = z
  .strictObject({
    except: z
      .array(columnName)
      .min(1)
      .max(200)
      .refine((names) => names.every(isPlainName), { error: 'must be plain names of columns' })
      .optional()
      .describe(
        'Columns that are never requested, whatever the CRM lists and whatever an input asks for. A file that has one all the same is quarantined for good, as is one that is not CSV: its columns cannot be seen.',
      ),
    required: columnNames.optional().describe('Columns without which nothing is requested.'),
  })
  .superRefine(({ except = [], required = [] }, context) => {
    for (const name of required.filter((each) => except.includes(each))) {
      const message = `names "${name}", which \`except\` leaves out`;
      context.addIssue({ code: 'custom', path: ['required'], message });
    }
  });

/** Of the configuration; the input of an execution has `"all"` or a list. */
export const configuredColumns = z
  .union([requestKeys.columns, chosenColumns])
  .describe(
    '`"all"`: every column that the CRM lists (`GET /{entity}/fields`); a list of names, in order; or `{"except": […], "required": […]}`: all but those in `except`, which no input can ask for, and nothing where one of `required` is missing.',
  );
