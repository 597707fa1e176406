import type { Deployment } from '../config/deployment.ts';
import { type Entity, entitySchema } from '../config/entities.ts';
import { entityPlan } from '../config/entity-plan.ts';
import type { RunState } from './states.ts';

const GROWTH = 1.5;
/** Every wait is drawn from 75 % to 125 % of its place in the series, so that seven runs do not fall into step. */
const JITTER = 0.25;

export interface Pacing {
  firstWaitSeconds: number;
  largestWaitSeconds: number;
  deadline: Date;
}

/** Draws in [0, 1); injected so that tests are exact. */
export type Random = () => number;

/** The pacing of a run: its own once it has begun, that of the configuration before. */
export function pacingOf(state: RunState, deployment: Deployment): Pacing {
  if (state.run) return { ...state.run, deadline: new Date(state.run.deadline) };
  const entity = askedEntity(state.input);
  const polling = entity ? entityPlan(deployment, entity).polling : deployment.polling;
  return { ...polling, deadline: deadlineOf(state.startedAt, polling.deadlineSeconds) };
}

/** The entity that an input asks for, whatever else is wrong with it. */
export function askedEntity(input: unknown): Entity | undefined {
  const asked = typeof input === 'object' && input !== null && 'entity' in input ? input.entity : undefined;
  return entitySchema.safeParse(asked).data;
}

export function deadlineOf(startedAt: string, deadlineSeconds: number): Date {
  return new Date(Date.parse(startedAt) + deadlineSeconds * 1000);
}

/**
 * The next wait in whole seconds, or `undefined` when the deadline has passed and the run is to give up.
 *
 * Waits grow by half from the first to the largest, never shorter than what the service asked for (`retryAfterSeconds`):
 * a server that always says "in one second" cannot make a run loop by the thousand. The last wait ends at the deadline, so
 * that a run gives up only after one last look.
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
