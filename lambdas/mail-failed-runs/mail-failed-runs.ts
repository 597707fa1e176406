import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { latestPointerKey, readPointer } from '../../core/export/pointer.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { type FailedRun, failedRunOf } from './failed-run.ts';
import { mailOf, messageOf } from './mail-text.ts';

/** Longer than the seven minutes between two starts: runs of one night with one cause are one mail. */
const QUIET_MINUTES = 10;
const LONGEST_MINUTES = 60;

export interface Message {
  body: string | undefined;
  /** By which it is deleted. */
  receipt: string;
}

export interface MailFailedRunsDeps {
  now: Date;
  /** Name of the deployment. */
  deployment: string;
  runbookUrl: string;
  /** All messages that wait. Those that are not deleted are back at the next reading. */
  receive(): Promise<Message[]>;
  remove(messages: Message[]): Promise<void>;
  publish(subject: string, message: string): Promise<void>;
  bucket: Pick<Bucket, 'read'>;
}

type Waiting = FailedRun & { message: Message };

/**
 * Sends one mail for each error of which no run has ended for ten minutes, or one has waited for an hour; the others stay in
 * the queue. A message that is no end of a run stays until SQS moves it to the queue of undelivered starts.
 * @returns the error of each mail that was sent
 * @throws what the first mail that was refused met, once the others are sent
 */
export async function mailFailedRuns(deps: MailFailedRunsDeps): Promise<FailedRun['error'][]> {
  const waiting = (await deps.receive()).flatMap((message) => {
    const run = failedRunOf(message.body);
    return run ? [{ ...run, message }] : [];
  });
  const due = [...Map.groupBy(waiting, ({ error }) => error)].filter(([, runs]) => isDue(runs, deps.now));
  const refusals: unknown[] = [];
  for (const [error, runs] of due) await mail(error, runs, deps).catch((refusal: unknown) => refusals.push(refusal));
  if (refusals.length > 0) throw refusals[0];
  return due.map(([error]) => error);
}

function isDue(runs: Waiting[], now: Date): boolean {
  const minutes = runs.map(({ endedAt }) => (now.getTime() - endedAt.getTime()) / 60_000);
  return Math.min(...minutes) >= QUIET_MINUTES || Math.max(...minutes) >= LONGEST_MINUTES;
}

/** Mailed twice rather than never: a message is deleted behind its mail. */
async function mail(error: FailedRun['error'], runs: Waiting[], deps: MailFailedRunsDeps): Promise<void> {
  // SQS may deliver a message twice.
  const byName = new Map(runs.map((run) => [run.name, run]));
  const sorted = [...byName.values()].sort((a, b) => a.endedAt.getTime() - b.endedAt.getTime());
  const readers = await readersOf(sorted, deps.bucket);
  const text = mailOf(error, sorted, { ...deps, readers });
  await deps.publish(text.subject, messageOf(text));
  await deps.remove(runs.map(({ message }) => message));
}

async function readersOf(runs: FailedRun[], bucket: Pick<Bucket, 'read'>): Promise<Map<Entity, string | null>> {
  const entities = new Set(runs.flatMap(({ entity }) => entity ?? []));
  const dates = await Promise.all(
    [...entities].map(async (entity) => ({ entity, date: await dateOf(entity, bucket) })),
  );
  return new Map(dates.flatMap(({ entity, date }) => (date === undefined ? [] : [[entity, date] as const])));
}

/** @returns `undefined` where the bucket does not tell: the mail is sent all the same */
async function dateOf(entity: Entity, bucket: Pick<Bucket, 'read'>): Promise<string | null | undefined> {
  try {
    return (await readPointer(bucket, latestPointerKey(entity))).run?.date ?? null;
  } catch (error) {
    if (error instanceof RunError) return undefined;
    throw error;
  }
}
