import * as z from 'zod/mini';

const changeSchema = z.object({ name: z.string(), from: z.string(), to: z.string() });
const sinceSchema = z.object({ date: z.iso.date(), execution: z.string() });
export type Since = z.infer<typeof sinceSchema>;

/** How the columns that the CRM lists differ from those of an earlier export; a part of the state and of the manifest. */
export const driftSchema = z.object({
  since: sinceSchema.check(z.describe('The published export that it was compared with.')),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  retyped: z.array(changeSchema),
  relabelled: z.array(changeSchema),
  unnamed: z
    .int()
    .check(z.describe('Changes that are not named above: too many, or of columns whose names are not plain.')),
});
export type Drift = z.infer<typeof driftSchema>;
