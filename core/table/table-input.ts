import * as z from 'zod/mini';
import { entitySchema } from '../config/entity-schema.ts';
import { ignoredKeys, inputOf } from '../export/input.ts';
import type { RunState } from '../step/states.ts';

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

/** The run whose file becomes a table: the run that the input asks for, or whose file is released, or this one. */
export function tableRunOf({ input, released, execution }: RunState): string {
  return askedSchema.safeParse(input).data?.table.run ?? released?.run ?? execution;
}

const askedSchema = z.object({ table: z.object({ run: z.string() }) });
