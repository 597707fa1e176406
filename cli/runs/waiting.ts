import * as z from 'zod/mini';
import type { RunState } from '../../core/step/states.ts';
import { manyText, printableLine } from '../support/text.ts';

/** A state that a run has entered. */
export interface EnteredState {
  name: string;
  at: Date | undefined;
  state: RunState | undefined;
}

/** Why a run waits, and until when. */
export const waitingSchema = z.object({
  state: z.string(),
  checks: z.int().check(z.describe('Status checks that the CRM answered.')),
  trouble: z
    .nullable(z.object({ error: z.string(), status: z.nullable(z.int()), count: z.int() }))
    .check(z.describe('Errors in a row until now; null where the CRM only needs more time.')),
  nextTryAt: z.iso.datetime(),
  deadline: z
    .nullable(z.iso.datetime())
    .check(z.describe('When the run gives up; null where its state does not have it.')),
});
export type Waiting = z.infer<typeof waitingSchema>;

/** Why the run waits; `undefined` if it does not wait. */
export function waitingOf({ name, at, state }: EnteredState): Waiting | undefined {
  if (!name.startsWith('WaitBefore') || !state || !at) return undefined;
  const { checks, run, waitSeconds } = state;
  const { error, status, count, deadline } = state.trouble ?? {};
  return {
    state: name,
    checks,
    trouble: error === undefined ? null : { error, status: status ?? null, count: count ?? 1 },
    nextTryAt: new Date(at.getTime() + waitSeconds * 1000).toISOString(),
    deadline: run?.deadline ?? deadline ?? null,
  };
}

/** Where a run is: `CheckStatus, 1 check`, or the text of `waitingText`. */
export function positionText(seen: EnteredState): string {
  const waiting = waitingOf(seen);
  return waiting ? waitingText(waiting) : printableLine(`${seen.name}, ${manyText(seen.state?.checks ?? 0, 'check')}`);
}

/** `WaitBeforeCheck, 2 checks answered, the last 3 refused: 503, next try 03:12:05, deadline 07:00:00 UTC` */
export function waitingText({ state, checks, trouble, nextTryAt, deadline }: Waiting, now = new Date()): string {
  const facts = [
    state,
    `${manyText(checks, 'check')}${trouble ? ' answered' : ''}`,
    trouble && troubleText(trouble),
    `next try ${clockText(nextTryAt, now)}`,
    deadline && `deadline ${clockText(deadline, now)}`,
  ];
  return printableLine(`${facts.filter(Boolean).join(', ')} UTC`);
}

/** `the last 3 refused: 503`, or the name of the error if there was no answer. */
function troubleText({ error, status, count }: NonNullable<Waiting['trouble']>): string {
  const tries = count === 1 ? 'the last try' : `the last ${count}`;
  return status === null ? `${tries} failed: ${error}` : `${tries} refused: ${status}`;
}

/** The time, with its date unless that is today. */
function clockText(time: string, now: Date): string {
  const day = time.slice(0, 10);
  const clock = time.slice(11, 19);
  return day === now.toISOString().slice(0, 10) ? clock : `${day} ${clock}`;
}
