import * as z from 'zod';
import { PLAN_DEFAULTS } from './entity-plan.ts';

const { maxShrink, maxGrowth, maxIrregularShare } = PLAN_DEFAULTS.guards;
const share = z.number().min(0).max(1);

/** What a file must show before readers get it . */
export const guardsSchema = z.strictObject({
  minRows: z
    .int()
    .min(0)
    .optional()
    .describe(
      'A file with fewer rows, or whose rows cannot be counted, is quarantined. Not for runs with another plan.',
    ),
  maxShrink: share
    .default(maxShrink)
    .describe(
      'Largest share of the usual rows that a file may lack. Usual is the median of up to seven published files of other dates, where it is at least 20.',
    ),
  maxGrowth: z
    .number()
    .min(1)
    .default(maxGrowth)
    .describe('How many times the usual rows a file may have; fewer than 20 usual rows count as 20.'),
  maxIrregularShare: share
    .default(maxIrregularShare)
    .describe('Largest share of records that may have another number of fields than the first.'),
});
export type GuardSettings = z.infer<typeof guardsSchema>;
