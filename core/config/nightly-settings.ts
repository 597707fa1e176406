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
  .describe('IANA zone in which a run gets its date.');

const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time such as "01:30"');

export const localTime = time
  .optional()
  .describe(
    'Start in local time, in `timeZone`, that replaces the one from `nightly`. A time that clocks leave out counts from before the change (02:30 is then 03:30); of one that comes twice, the first counts.',
  );

export const nightlySchema = z
  .strictObject({
    at: time
      .optional()
      .describe(
        `Start of the first entity in local time, in \`timeZone\`: it stays where it is in summer. Without it: ${START_UTC} UTC.`,
      ),
    spreadMinutes: z
      .int()
      .min(0)
      .max(60)
      .default(7)
      .describe(
        'Minutes between the starts of two entities. If the starts of one night span midnight in `timeZone`, they get two dates.',
      ),
  })
  .prefault({});
