import * as z from 'zod';

/** The part of a deployment's configuration that is about waiting for the CRM: for all entities, and in parts for one. */

/** 500 waits of the largest length fill the longest deadline: the proof in `test/lib/history-budget.slow.test.ts` needs it. */
export const LARGEST_DEADLINE_IN_WAITS = 500;

/** A CRM that restarts at night is back after so long. Less is for local deployments. */
export const LEAST_CREATE_PAUSE_SECONDS = 300;

const polling = {
  firstWaitSeconds: z.int().min(1).max(3600).describe('First wait between two status checks.'),
  largestWaitSeconds: z
    .int()
    .min(1)
    .max(3600)
    .describe('Longest wait: each wait is half as long again as the one before, up to this.'),
  deadlineSeconds: z
    .int()
    .min(5)
    .max(86_400)
    .describe('A run gives up this long after its start. At most 500 times the largest wait.'),
  createAgainSeconds: z
    .int()
    .min(1)
    .max(3600)
    .describe(
      'Shortest time before an unanswered export request is sent a second time; `largestWaitSeconds`, if that is longer. Below 300 only if `local` is true.',
    ),
};

export const pollingSchema = z.strictObject({
  firstWaitSeconds: polling.firstWaitSeconds.default(15),
  largestWaitSeconds: polling.largestWaitSeconds.default(300),
  deadlineSeconds: polling.deadlineSeconds.default(21_600),
  createAgainSeconds: polling.createAgainSeconds.default(LEAST_CREATE_PAUSE_SECONDS),
});
export type Polling = z.infer<typeof pollingSchema>;

export const ownPollingSchema = z
  .strictObject(polling)
  .partial()
  .optional()
  .describe('Replaces single values of `polling` for this entity.');
