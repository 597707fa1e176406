import * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import { OLDEST_MACHINE } from './steps.ts';

/** This much every release has put into the state of an execution. The first ones gave it no number. */
const earlierSchema = z.object({
  machineVersion: z._default(z.int().check(z.maximum(OLDEST_MACHINE - 1)), 1),
  input: z.unknown(),
  execution: z.string(),
  startedAt: z.iso.datetime(),
  /** Only a child of a batch has a chunk. Its machine answers its number, whatever became of it. */
  chunk: z.optional(z.unknown()),
});

/** Gives the state with which an execution began, where that was under an earlier release; else `undefined`. */
export function begunEarlier(event: unknown): object | undefined {
  return earlierSchema.safeParse(event).data;
}

/** @throws RunError `EarlierRelease` */
export function refuseEarlier(): never {
  throw new RunError('EarlierRelease', 'The execution began under an earlier release.');
}
