import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** Smallest measurable difference: a `Date` header has whole seconds. */
const SMALLEST_OFFSET_MS = 2000;

/**
 * Measures the AWS time from the answers to a client. `now` returns the AWS time if the clock of this machine is off by
 * more than the measurement error. Functions compare claims of the ledger with the AWS time: if a wrong clock dated a
 * claim, two processes could use the same refresh token.
 */
export function watchClock(client: SecretsManagerClient, local: () => number = Date.now): { now: () => Date } {
  let best = { roundTrip: Number.POSITIVE_INFINITY, offset: 0 };
  client.middlewareStack.add(
    (next) => async (args) => {
      const sent = local();
      const result = await next(args);
      const received = local();
      // The SDK does not declare the type of a response.
      const { headers } = result.response as { headers: Partial<Record<string, string>> };
      const date = Date.parse(headers.date ?? '');
      const roundTrip = received - sent;
      // The header has whole seconds, so half a second is added as the average.
      if (!Number.isNaN(date) && roundTrip < best.roundTrip)
        best = { roundTrip, offset: date + 500 - (sent + received) / 2 };
      return result;
    },
    // This step of the SDK receives error responses too.
    { step: 'deserialize', priority: 'low', name: 'watchClock', override: true },
  );
  return { now: () => new Date(local() + (Math.abs(best.offset) > SMALLEST_OFFSET_MS ? best.offset : 0)) };
}
