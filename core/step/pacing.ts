import type { Deployment } from '../config/deployment.ts';
import { type Entity, entitySchema } from '../config/entities.ts';
import type { RunState } from './states.ts';

const GROWTH = 1.5;
/** Each wait varies by 25 %, so that seven runs do not fall into step. */
const JITTER = 0.25;

export interface Pacing {
  firstWaitSeconds: number;
  largestWaitSeconds: number;
  deadline: Date;
}

/** A number in [0, 1). */
export type Random = () => number;

/** The pacing of the run once it has begun, else that of the configuration. */
export function pacingOf(state: RunState, deployment: Deployment): Pacing {
  if (state.run) return { ...state.run, deadline: new Date(state.run.deadline) };
  const entity = requestedEntity(state.input);
  const polling = entity ? deployment.entities[entity].polling : deployment.polling;
  return { ...polling, deadline: deadlineOf(state.startedAt, polling.deadlineSeconds) };
}

/** The entity of an input, whatever else is wrong with it. */
export function requestedEntity(input: unknown): Entity | undefined {
  const entity = typeof input === 'object' && input !== null && 'entity' in input ? input.entity : undefined;
  return entitySchema.safeParse(entity).data;
}

export function deadlineOf(startedAt: string, deadlineSeconds: number): Date {
  return new Date(Date.parse(startedAt) + deadlineSeconds * 1000);
}

/**
 * The next wait in whole seconds; `undefined` when the deadline has passed. Waits grow by half up to the largest and
 * are never shorter than `retryAfterSeconds`; the last one ends at the deadline, so that a run fails only after a last
 * look.
 */
export function nextWait(
  waits: number,
  pacing: Pacing,
  clock: { now: Date; random: Random },
  retryAfterSeconds = 0,
): number | undefined {
  const left = Math.ceil((pacing.deadline.getTime() - clock.now.getTime()) / 1000);
  if (left <= 0) return undefined;
  const { firstWaitSeconds: first, largestWaitSeconds: largest } = pacing;
  const place = Math.min(first * GROWTH ** waits, largest);
  const drawn = place * (1 - JITTER + 2 * JITTER * clock.random());
  const grown = Math.round(Math.min(Math.max(drawn, first), largest));
  return Math.min(Math.max(grown, Math.ceil(retryAfterSeconds)), left);
}
