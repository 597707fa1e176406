import { type LineOutcome, type ResultLine, type Tries, unfinishedLine } from '../../core/batch/batch-results.ts';
import type { Stop, StopFlag } from '../../core/batch/batch-state.ts';
import { LONGEST_WAIT_SECONDS } from '../../core/batch/batch-state.ts';
import type { CrmCall } from '../../core/crm/call.ts';
import type { CrmExchange } from '../../core/crm/crm-client.ts';
import { type UpdateAnswer, updateCustomer } from '../../core/crm/customers.ts';
import { RunError } from '../../core/errors.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { UpdateRecord } from '../../core/updates/read-updates.ts';

export interface ApplyLineDeps extends Pick<Invocation, 'now' | 'random' | 'secondsLeft'> {
  crm: CrmExchange;
  stop: StopFlag;
  pace: Pace;
  sleep: (milliseconds: number) => Promise<void>;
  /** The part of an answer that confirms a change. */
  confirmation: CrmCall['confirmation'];
}

/** Either the line is done, perhaps with a reason to stop the batch, or it is retried after a wait. */
type LineEnd = { result: ResultLine; stop?: Stop } | { result: undefined; waitSeconds: number };

/** Time to read the flag (25 s), send twice (30 s each) with a refresh between, and store the result. */
const MARGIN_SECONDS = 180;
/** Time that is reserved for storing the results after the last request. */
const STORE_SECONDS = 25;
/** Longer waits are Wait states, because a sleeping function costs money. */
export const LONGEST_SLEEP_SECONDS = 20;
/** The wait before the second attempt, and the wait before each further one. */
const FIRST_BACKOFF_SECONDS = 1;
const BACKOFF_SECONDS = 4;

/**
 * Sends one line until its outcome is known. It reads the stop flag before each attempt.
 * @param tries the attempts of the line; updated even if this function throws
 * @throws RunError if no line can be sent now (no connection, no token), or the bucket cannot be read
 */
export async function applyLine(record: UpdateRecord, tries: Tries, deps: ApplyLineDeps): Promise<LineEnd> {
  for (;;) {
    if (deps.secondsLeft() < MARGIN_SECONDS + deps.pace.seconds) return { result: undefined, waitSeconds: 1 };
    const answer = (await turn(deps)) ?? (await send(record, tries, deps));
    if ('reason' in answer) return { result: unfinishedLine(record, tries, answer.reason, deps.now().toISOString()) };
    if (tries.attempts >= attemptsFor(answer)) {
      const result = resultOf(record, tries, answer, deps);
      return answer.error && stopsAll(answer) ? { result, stop: stopFor(answer.error) } : { result };
    }
    const seconds = waitBefore(tries, answer, deps);
    if (seconds > LONGEST_SLEEP_SECONDS) return { result: undefined, waitSeconds: Math.ceil(seconds) };
    await deps.sleep(seconds * 1000);
  }
}

async function turn({ pace, stop }: ApplyLineDeps): Promise<Stop | undefined> {
  // After a stop no line is sent, so no wait is needed.
  if (!stop.isSet()) await pace.turn();
  return stop.read();
}

/** Returns the answer. If the batch cannot continue, sets the stop flag and returns the reason instead. */
async function send({ record }: UpdateRecord, tries: Tries, deps: ApplyLineDeps): Promise<UpdateAnswer | Stop> {
  const { id, ...fields } = record;
  const { lost } = tries;
  // The line is in doubt until it is answered, even if a bug ends this call.
  tries.lost = true;
  try {
    const secondsLeft = () => deps.secondsLeft() - STORE_SECONDS;
    const { confirmation } = deps;
    const answer = await updateCustomer(deps.crm, id, fields, { secondsLeft, confirmation });
    const inDoubt = lost || answer.outcome === 'unknown' || answer.outcome === 'contradiction';
    // A refused token is not the fault of the line.
    const error = answer.outcome === 'refused' ? null : (answer.error?.name ?? null);
    Object.assign(tries, { attempts: tries.attempts + 1, lost: inDoubt, status: answer.status, error });
    // The token was refused, and there is no other token, so the state machine waits.
    if (answer.outcome === 'refused' && answer.error?.transient) throw answer.error;
    return answer;
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    // The request was not sent, or was refused, so it has changed nothing.
    tries.lost = lost;
    if (error.transient) throw error;
    const stop = stopFor(error);
    await deps.stop.raise(stop);
    return stop;
  }
}

function stopFor({ name, message }: RunError): Stop {
  return { reason: name, sentence: message };
}

function waitBefore({ attempts }: Tries, { error }: UpdateAnswer, { random }: ApplyLineDeps): number {
  const backoff = (attempts === 1 ? FIRST_BACKOFF_SECONDS : BACKOFF_SECONDS) * (0.5 + random() / 2);
  return Math.max(backoff, Math.min(error?.retryAfterSeconds ?? 0, LONGEST_WAIT_SECONDS));
}

function resultOf(
  { line, record }: UpdateRecord,
  { attempts, lost }: Tries,
  answer: UpdateAnswer,
  { now }: ApplyLineDeps,
): ResultLine {
  const { status, error, fields } = answer;
  const outcome = outcomeOf(answer, lost);
  const result = {
    line,
    id: record.id,
    outcome,
    error: error?.name ?? null,
    status,
    attempts,
    at: now().toISOString(),
  };
  return fields ? { ...result, fields } : result;
}

/** The most attempts for a line by the outcome of its answer. `notTaken`: 429, a locked customer (423), a busy CRM. */
const ATTEMPTS: Partial<Record<UpdateAnswer['outcome'], number>> = { unknown: 3, notTaken: 8 };
const attemptsFor = ({ outcome }: UpdateAnswer) => ATTEMPTS[outcome] ?? 1;

/**
 * The outcome of a line, from its last answer.
 * @param inDoubt whether an attempt may have made the change. A refusal of a later attempt, even 409 or 412, leaves the
 *   line in doubt.
 */
function outcomeOf({ outcome, error }: UpdateAnswer, inDoubt: boolean): LineOutcome {
  if (outcome === 'done') return 'APPLIED';
  if (inDoubt) return 'UNKNOWN';
  // Other refusals are about our permissions or the address, and the line may be right.
  return error?.name === 'CrmRejectedRequest' ? 'REJECTED' : 'FAILED';
}

/** Whether every further line would fail too, because no token is accepted, or the grant is dead or lacks the scope. */
function stopsAll({ status, error, scopeMissing = false }: UpdateAnswer): boolean {
  const hasNoToken = error?.name === 'ReauthorizationRequired' || error?.name === 'ConfigInvalid';
  return status === 401 || scopeMissing || (status === 403 && hasNoToken);
}

type Clock = Pick<Invocation, 'now' | 'random'> & { sleep: (milliseconds: number) => Promise<void> };

/**
 * Turns at a fixed rate. A missed turn is lost. The first turn comes at a random time in the first interval, so that
 * chunks do not all send together.
 * @param continued whether an earlier invocation may just have sent: the first turn then comes after an interval
 */
export function createPace(perSecond: number, continued: boolean, { now, random, sleep }: Clock) {
  const interval = 1000 / perSecond;
  let next = now().getTime() + (continued ? interval : random() * interval);
  return {
    /** The longest wait for a turn, in seconds. */
    seconds: interval / 1000,
    turn: async () => {
      const early = next - now().getTime();
      if (early > 0) await sleep(early);
      next = Math.max(next, now().getTime()) + interval;
    },
  };
}

type Pace = ReturnType<typeof createPace>;
