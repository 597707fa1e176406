import * as z from 'zod/mini';
import { entitySchema } from '../../core/config/entity-schema.ts';
import { RULE_STATES } from '../deployment-state.ts';
import { NIGHT_OUTCOMES } from './night.ts';

const startSchema = z.object({ entity: entitySchema, at: z.iso.datetime(), date: z.iso.date() });

const rowSchema = z.object({
  entity: entitySchema,
  date: z.iso
    .date()
    .check(z.describe('The date that is judged: of the night that began last, or of the newest start.')),
  state: z.enum(NIGHT_OUTCOMES),
  missing: z.boolean().check(z.describe('The date is due, and readers do not have all of it.')),
  rule: z.enum(RULE_STATES).check(z.describe('paused: by hand; off: by the configuration.')),
  run: z.nullable(z.string()).check(z.describe('The run that counts, or the last attempt.')),
  error: z.nullable(z.string()),
  failedSince: z
    .nullable(z.object({ run: z.string(), error: z.nullable(z.string()) }))
    .check(z.describe('The newest run of the entity, if it failed.')),
  readers: z
    .nullable(z.object({ date: z.iso.date(), run: z.string(), startedAt: z.iso.datetime(), hours: z.int() }))
    .check(z.describe('What readers get now, and how long ago its run started; null = nothing.')),
  advice: z.nullable(z.string()).check(z.describe('The command to type.')),
});
export type StatusRow = z.infer<typeof rowSchema>;

/** The JSON document of `status`. */
export const statusSchema = z.object({
  deployment: z.string(),
  madeAt: z.iso.datetime(),
  ok: z
    .boolean()
    .check(z.describe('Whether readers have every date that is due, no newer run failed, and the grant can be used.')),
  headline: z.string(),
  entities: z.array(rowSchema),
  night: z
    .nullable(z.object({ date: z.iso.date(), revision: z.int(), complete: z.boolean(), lacking: z.array(z.string()) }))
    .check(
      z.describe(
        'The night as its object in the bucket has it (docs/reading.md); null = there is none, or it is unknown.',
      ),
    ),
  alarms: z.nullable(z.array(z.string())).check(z.describe('Those that are raised now; null = not known.')),
  grant: z
    .nullable(z.object({ obtainedAt: z.iso.datetime(), trouble: z.nullable(z.string()) }))
    .check(z.describe('When its tokens were obtained, and why it cannot be used; null = not known.')),
  nextStart: z.nullable(startSchema).check(z.describe('null = none, or not known.')),
  warnings: z.array(z.string()).check(z.describe('What could not be read.')),
});
export type Status = z.infer<typeof statusSchema>;
