import * as z from 'zod/mini';
import { type Entity, entitySchema } from '../../../core/config/entities.ts';
import { jsonOrUndefined } from '../../../core/json.ts';

/** A value that is not what it should be counts as none: a run with any input is shown. */
const known = <T extends z.core.SomeType>(schema: T) => z.catch(z.optional(schema), undefined);

const inputSchema = z.object({
  entity: known(entitySchema),
  date: known(z.string()),
  scheduledFor: known(z.string()),
  adopt: known(z.string()),
  release: known(z.string()),
  table: known(z.object({ run: z.string() })),
  file: known(z.string()),
});
const givenSchema = z.catch(z.record(z.string(), z.unknown()), {});

/** What commands read in the input of an execution. The functions judge it by schemas of their own, which are strict. */
export interface RunInput {
  entity?: Entity | undefined;
  date?: string | undefined;
  scheduledFor?: string | undefined;
  /** The failed run whose export it takes. */
  adopt?: string | undefined;
  /** An update is a batch of customer updates; release and table are about the file of another run. */
  what: 'export' | 'release' | 'table' | 'update';
  /** The run whose file is released or made a table; the batch. */
  of: string | undefined;
  /** All that was given. */
  given: Record<string, unknown>;
}

/** @param input as it was given, or as Step Functions has it: a text */
export function readInput(input: unknown): RunInput {
  const given = givenSchema.parse(typeof input === 'string' ? jsonOrUndefined(input) : input);
  const { release, table, file, ...common } = inputSchema.parse(given);
  const batch = /^updates\/([^/]+)\/input\.jsonl$/.exec(file ?? '')?.[1];
  const what = 'table' in given ? 'table' : 'release' in given ? 'release' : batch === undefined ? 'export' : 'update';
  return { ...common, what, of: table?.run ?? release ?? batch, given };
}
