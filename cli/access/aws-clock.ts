import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';

/** The time of AWS, seen from a machine whose clock may be wrong. */
export interface Clock {
  /**
   * The time of AWS where this machine is off by more than the accuracy of the measurement; else the time of this
   * machine.
   */
  now: () => Date;
}

const responseSchema = z.object({ headers: z.object({ date: z.string() }) });
/** A `Date` header has whole seconds. */
const TELLABLE_MS = 2000;

/**
 * Learns the time of AWS from the answers to a client. Functions compare claims of the ledger with it: a claim dated by a
 * wrong clock would let two present one refresh token.
 */
export function watchClock(client: SecretsManagerClient, local: () => number = Date.now): Clock {
  let best = { roundTrip: Number.POSITIVE_INFINITY, offset: 0 };
  client.middlewareStack.add(
    (next) => async (args) => {
      const sent = local();
      const result = await next(args);
      const received = local();
      const response = responseSchema.safeParse(result.response);
      const date = response.success ? Date.parse(response.data.headers.date) : Number.NaN;
      const roundTrip = received - sent;
      // The header has whole seconds: add half a second on average.
      if (!Number.isNaN(date) && roundTrip < best.roundTrip)
        best = { roundTrip, offset: date + 500 - (sent + received) / 2 };
      return result;
    },
    // This step of the SDK sees error responses too.
    { step: 'deserialize', priority: 'low', name: 'watchClock', override: true },
  );
  return { now: () => new Date(local() + (Math.abs(best.offset) > TELLABLE_MS ? best.offset : 0)) };
}
