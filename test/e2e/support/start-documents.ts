import * as z from 'zod';
import { runSchema } from '../../../cli/runs/run.ts';

/** The program that `npm start` runs. */
export const START = 'local/start.ts';

/** A published run, as `--json` prints it. */
export const publishedSchema = z.strictObject({
  ...runSchema.shape,
  executionArn: z.string().startsWith('arn:aws:states:us-east-1:000000000000:execution:crm-export-local-ExportRun:'),
  outcome: z.literal('published'),
  rows: z.int().positive(),
  warningCount: z.literal(0),
});
/** The document of a start whose runs all published. */
const documentSchema = z.strictObject({ ok: z.literal(true), runs: z.array(publishedSchema) });
/** The document of a start with `--keep`. */
export const keptSchema = documentSchema.extend({
  endpoints: z.strictObject({ aws: z.url(), crm: z.url(), auth: z.url() }),
});
/** The document of a start without a run. */
export const refusedSchema = z.strictObject({ ok: z.literal(false), runs: z.tuple([]), error: z.string().min(1) });
