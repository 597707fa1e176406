import * as z from 'zod';
import { START_UTC } from '../schedule/timing.ts';

/** The part of a deployment's configuration that is about when the night begins. */

export const timeZone = z
  .string()
  .refine(
    (zone) => {
      try {
        return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
      } catch {
        return false;
      }
    },
    { error: 'an IANA time zone such as "Asia/Jerusalem" or "UTC"' },
  )
  .default('UTC')
  .describe('IANA zone of local times and of the dates of runs.');

const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time such as "01:30"');

export const localTime = time
  .optional()
  .describe(
    'Start in local time instead of the one from `nightly`. A time that a clock change leaves out is an hour later; of one that comes twice, the first counts.',
  );

export const nightlySchema = z
  .strictObject({
    at: time
      .optional()
      .describe(`Start of the first entity in local time, in \`timeZone\`, all year. Default: ${START_UTC} UTC.`),
    spreadMinutes: z
      .int()
      .min(0)
      .max(60)
      .default(7)
      .describe(
        'Minutes between the starts of two entities. Starts before and after midnight in `timeZone` get two dates.',
      ),
  })
  .prefault({});
