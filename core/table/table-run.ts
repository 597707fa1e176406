import * as z from 'zod/mini';
import { CRM_EXPORT } from '../commands.ts';
import { entitySchema } from '../config/entity-schema.ts';
import type { Manifest } from '../export/manifest.ts';
import type { OrderedRun } from '../export/pointer.ts';
import { ignoredKeys, inputOf } from '../step/machine-input.ts';
import type { RunState } from '../step/states.ts';

/** The input of an execution that writes the table of a published file and exports nothing. */
const inputSchema = z.strictObject({
  entity: entitySchema,
  table: z.strictObject({
    /** The execution that stored the file. */
    run: z.string().check(z.regex(/^[^\s/]{1,80}$/, 'must be the name of a run')),
  }),
  ...ignoredKeys,
});

/** @throws RunError `InvalidInput` */
export function parseTableInput(input: unknown) {
  return inputOf(inputSchema, input);
}

/** The run whose file becomes a table: the run that the input asks for, or whose file is released, or this one. */
export function tableRunOf({ input, released, execution }: RunState): string {
  return inputSchema.safeParse(input).data?.table.run ?? released?.run ?? execution;
}

/**
 * Why the file of a run gets no table, in a sentence; `undefined` if it gets one.
 * @param ofDate the run that the pointer of its date names
 */
export function noTableReason(
  run: string,
  manifest: Manifest | undefined,
  ofDate: Pick<OrderedRun, 'execution'> | undefined,
): string | undefined {
  const because = (why: string) => `The run ${run} gets no table: ${why}.`;
  if (!manifest)
    return because(`it has stored no file, is under way or does not exist; to list the runs: ${CRM_EXPORT} list`);
  const { entity, date, kind, differs } = manifest.run;
  const how = differs.length > 0 ? ` (${differs.join(', ')})` : '';
  if (kind === 'partial')
    return because(`its plan differs from the configured one${how}, and tables have the rows of the configured plan`);
  if (!ofDate) return because(`no file of ${entity} is published for ${date}`);
  if (ofDate.execution === manifest.execution) return undefined;
  return because(
    `the table of ${date} is made from the file of the run ${ofDate.execution}, which is published for that date`,
  );
}

export function notConfiguredText(entity: string): string {
  return `The configuration has no \`tables\` for ${entity} (entities.${entity}.tables).`;
}
