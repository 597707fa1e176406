import * as z from 'zod/mini';
import { entitySchema } from '../config/entities.ts';
import { ignoredKeys, inputOf } from '../export/input.ts';

/** The input of an execution that writes the table of a published file and exports nothing. */
const inputSchema = z.strictObject({
  entity: entitySchema,
  table: z.strictObject({
    /** The execution that stored the file. */
    run: z.string().check(z.regex(/^[^\s/]{1,80}$/)),
  }),
  ...ignoredKeys,
});

/** @throws RunError `InvalidInput` */
export function parseTableInput(input: unknown) {
  return inputOf(inputSchema, input);
}

/** The run whose table an input asks for; `undefined` if it does not ask for a table. */
export function tableRunOf(input: unknown): string | undefined {
  return askedSchema.safeParse(input).data?.table.run;
}

const askedSchema = z.object({ table: z.object({ run: z.string() }) });
