import type { CrmExchange } from '../shared/crm/client.ts';
import { type UpdateAnswer, updateCustomer } from '../shared/crm/customers.ts';
import { type ErrorName, RunError } from '../shared/errors.ts';
import type { StepDeps } from '../shared/step.ts';
import type { UpdateRecord } from '../shared/updates/read-chunk.ts';
import type { ResultLine } from '../shared/updates/result-line.ts';
import type { Stop, StopFlag } from '../shared/updates/stop-flag.ts';
import type { Pace } from './pace.ts';
import { attemptsFor, outcomeOf, stopsAll } from './verdict.ts';

export interface ApplyLineDeps extends Pick<StepDeps, 'now' | 'random' | 'secondsLeft'> {
  crm: CrmExchange;
  stop: StopFlag;
  pace: Pace;
  sleep: (milliseconds: number) => Promise<void>;
}

/** What is known of a line that was sent already. */
export interface Tries {
  attempts: number;
  /** An attempt was never answered, or nobody lived to hear. */
  lost: boolean;
  /** HTTP status of the last answer. */
  status: number | null;
}

/** The line is done, or is to be taken up again after a wait. */
export type LineEnd = { result: ResultLine } | { result: undefined; waitSeconds: number; tries: Tries };

/** One line needs at most two attempts of 30 seconds with a refresh between them, and its result has to be stored. */
const MARGIN_SECONDS = 180;
/** Longer waits are the machine's: a function that sleeps is paid for. */
const LONGEST_SLEEP_SECONDS = 20;
/** What a service may ask for at most. */
const LONGEST_RETRY_AFTER_SECONDS = 3600;
/** Before the second and the third attempt; the last for all further ones. */
const BACKOFF_SECONDS = [1, 4];

/**
 * Sends one line until its outcome is known. The stop flag is read before each attempt.
 * @throws RunError when nothing can be sent now (no connection, no token), and when the bucket cannot be read
 */
export async function applyLine(record: UpdateRecord, before: Tries, deps: ApplyLineDeps): Promise<LineEnd> {
  const tries = { ...before };
  let last: UpdateAnswer | undefined;
  for (;;) {
    if (deps.secondsLeft() < MARGIN_SECONDS + deps.pace.seconds) return { result: undefined, waitSeconds: 1, tries };
    await deps.pace.turn();
    const stop = await deps.stop.read();
    if (stop) return { result: stoppedAt(record, tries, last, stop, deps) };
    const answer = await send(record, deps);
    if ('reason' in answer) return { result: stoppedAt(record, tries, last, answer, deps) };
    tries.attempts += 1;
    tries.lost ||= answer.status === null;
    tries.status = answer.status;
    last = answer;
    if (tries.attempts >= attemptsFor(answer)) {
      if (answer.error && stopsAll(answer)) await deps.stop.raise(stopFor(answer.error, deps));
      return { result: resultOf(record, tries, answer, deps) };
    }
    const seconds = waitBefore(tries, answer, deps);
    if (seconds > LONGEST_SLEEP_SECONDS) return { result: undefined, waitSeconds: Math.ceil(seconds), tries };
    await deps.sleep(seconds * 1000);
  }
}

/** The answer; or why nothing can be sent any more, noted in the flag. */
async function send({ record }: UpdateRecord, deps: ApplyLineDeps): Promise<UpdateAnswer | Stop> {
  const { id, ...fields } = record;
  try {
    return await updateCustomer(deps.crm, id, fields, deps.now);
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    const stop = stopFor(error, deps);
    await deps.stop.raise(stop);
    return stop;
  }
}

function stopFor({ name, message }: { name: ErrorName; message: string }, { now }: ApplyLineDeps): Stop {
  return { reason: name, sentence: message, at: now().toISOString() };
}

function waitBefore({ attempts }: Tries, { retryAfterSeconds = 0 }: UpdateAnswer, { random }: ApplyLineDeps): number {
  const backoff = (BACKOFF_SECONDS[attempts - 1] ?? BACKOFF_SECONDS.at(-1) ?? 1) * (0.5 + random() / 2);
  return Math.max(backoff, Math.min(retryAfterSeconds, LONGEST_RETRY_AFTER_SECONDS));
}

function resultOf(
  { line, record }: UpdateRecord,
  tries: Tries,
  answer: UpdateAnswer,
  { now }: ApplyLineDeps,
): ResultLine {
  return {
    line,
    id: record.id,
    outcome: outcomeOf(answer, tries.lost),
    error: answer.error?.name ?? null,
    status: answer.status,
    attempts: tries.attempts,
    at: now().toISOString(),
    ...(answer.fields && { fields: answer.fields }),
  };
}

/** A line whose turn did not come; where it had been sent before, its last answer counts. */
function stoppedAt(
  record: UpdateRecord,
  tries: Tries,
  last: UpdateAnswer | undefined,
  { reason }: Stop,
  deps: ApplyLineDeps,
): ResultLine {
  if (last) return resultOf(record, tries, last, deps);
  const { attempts, lost, status } = tries;
  const { line, record: changed } = record;
  if (lost) return { line, id: changed.id, outcome: 'UNKNOWN', error: reason, status, attempts, at: time(deps) };
  if (attempts === 0) {
    return { line, id: changed.id, outcome: 'NOT_SENT', error: reason, status: null, attempts, at: null };
  }
  // It was answered before a wait, and not taken.
  const error = status === 429 ? 'RateLimited' : 'CrmUnavailable';
  return { line, id: changed.id, outcome: 'FAILED', error, status, attempts, at: time(deps) };
}

function time({ now }: ApplyLineDeps): string {
  return now().toISOString();
}
