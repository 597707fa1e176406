import * as z from 'zod';
import { PLAN_DEFAULTS } from './entity-plan.ts';

const policy = (ofWhat: string, usual: 'accept' | 'warn' | 'stop') =>
  z
    .enum(['accept', 'warn', 'stop'])
    .default(usual)
    .describe(
      `${ofWhat}: \`accept\` says nothing, \`warn\` warns in the manifest and raises an alarm, \`stop\` exports nothing.`,
    );

/** What follows where the columns that the CRM lists are not those of the last published export. */
export const driftSettingsSchema = z.strictObject({
  added: policy('A column came', PLAN_DEFAULTS.drift.added),
  removed: policy('A column went', PLAN_DEFAULTS.drift.removed),
  retyped: policy('A column has another type', PLAN_DEFAULTS.drift.retyped),
});
export type DriftPolicy = z.infer<typeof driftSettingsSchema>;
