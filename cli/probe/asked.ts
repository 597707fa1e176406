import * as z from 'zod/mini';
import { jsonOrUndefined, parseJson } from '../../core/json.ts';
import { suggestion } from '../../core/suggestion.ts';
import { customerFieldsSchema } from '../../core/updates/customer-fields.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { askHidden } from '../support/hidden-input.ts';
import type { ProbeDeps } from './conversation/converse.ts';

/** What a probe is asked to try besides an export. */
export interface ChangeOptions {
  customer?: string;
  field?: string;
  yes?: boolean;
}

const filterSchema = z.record(z.string(), z.unknown());

/** One filter definition, or a list of them. @throws CommandError, which unlike an InvalidArgumentError repeats no value */
export function filterArgument(text: string): Record<string, unknown>[] {
  const one = parseJson(filterSchema, text);
  const filters = one ? [one] : parseJson(z.array(filterSchema), text);
  if (filters && filters.length > 0) return filters;
  const example = '{"field":"id","operator":"equals","value":"…"}';
  throw new CommandError(`--filter: a filter is a JSON object, such as ${example}.`, USAGE);
}

/**
 * The change of a customer, whose value is asked for without echo.
 * @throws CommandError (exit code 2) where it is not whole, or no value of the field
 */
export async function changeOf({ customer, field, yes }: ChangeOptions): Promise<ProbeDeps['change']> {
  if (customer === undefined && field === undefined) return undefined;
  const refused = (sentence: string) => new CommandError(`${sentence} Nothing was asked of the CRM.`, USAGE);
  if (customer === undefined || field === undefined) throw refused('--customer and --field belong together.');
  if (!z.safeParse(z.guid(), customer).success) throw refused('The id of a customer is a UUID.');
  if (!yes) throw refused('This changes a customer: add --yes.');
  const known = Object.keys(customerFieldsSchema.shape);
  if (!known.includes(field)) throw refused(`There is no field "${field}" of customers${suggestion(field, known)}.`);
  const input = { stream: process.stdin, print: (text: string) => process.stderr.write(text) };
  const text = await askHidden(input, `New value of ${field} (not shown): `);
  if (text === undefined) throw refused('No value was given.');
  const found = [text, jsonOrUndefined(text)].find(
    (value) => customerFieldsSchema.safeParse({ [field]: value }).success,
  );
  if (found === undefined) throw refused(`This is no value of ${field}.`);
  return { customer, fields: { [field]: found } };
}
