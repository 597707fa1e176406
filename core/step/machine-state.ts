import * as z from 'zod/mini';

/** The part of the state that all machines have. */
export const machineState = {
  machineVersion: z.int(),
  /** The unchecked input of the execution, from a person, a rule or the command. */
  input: z.unknown(),
  execution: z.string(),
  startedAt: z.iso.datetime(),
  /** Waits of all steps so far; of a batch, consecutive waits without progress. */
  waits: z._default(z.int(), 0),
  outcome: z._default(z.nullable(z.string()), null),
  waitSeconds: z._default(z.int().check(z.minimum(0)), 0),
  failure: z._default(z.nullable(z.object({ error: z.string(), cause: z.string() })), null),
};
export type MachineState = { [K in keyof typeof machineState]: z.infer<(typeof machineState)[K]> };
