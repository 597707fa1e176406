import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import {
  type BatchManifest,
  batchManifestSchema,
  batchNameSchema,
  type Counts,
  type LineOutcome,
  noCounts,
  OUTCOMES,
  openClaims,
  parseResults,
  type ResultLine,
} from '../../core/batch/batch-results.ts';
import { createStopFlag, LONGEST_INVOCATION_SECONDS } from '../../core/batch/batch-state.ts';
import { type BatchStore, createBatchStore, keysOf } from '../../core/batch/batch-store.ts';
import { latestResults } from '../../core/batch/failed-lines.ts';
import { parseJson } from '../../core/json.ts';
import { lineBlocks } from '../../core/updates/line-blocks.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { plainLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import { refused } from './update-source.ts';

/** A deployment with customer updates. */
export interface UpdatesTarget extends Target {
  UpdatesStateMachineArn: string;
  store: BatchStore;
}

/** @throws CommandError (exit code 2) if the deployment has no state machine CustomerUpdates */
export async function connectForUpdates(options: TargetOptions): Promise<UpdatesTarget> {
  const target = await connect(options);
  const { UpdatesStateMachineArn, s3, BucketName } = target;
  if (UpdatesStateMachineArn) {
    return Object.assign(target, { UpdatesStateMachineArn, store: createBatchStore(s3, BucketName) });
  }
  throw new CommandError(
    `The deployment ${options.deployment} cannot update customers: set "customerUpdates": true in its configuration, deploy it, then authorize again.`,
    USAGE,
  );
}

/** @throws InvalidArgumentError */
export function batchArgument(text: string): string {
  if (batchNameSchema.safeParse(text).success) return text;
  throw new InvalidArgumentError('The name of a batch has letters, digits and hyphens, at most 60.');
}

/**
 * @returns `undefined` until the batch has a summary
 * @throws CommandError (exit code 1) for an object that is not a valid manifest
 */
export async function readBatchManifest(store: BatchStore, batch: string): Promise<BatchManifest | undefined> {
  const key = keysOf(batch).manifest;
  const object = await store.read(key);
  const manifest = object && parseJson(batchManifestSchema, object.text);
  if (object && !manifest) throw new CommandError(`The object ${key} does not hold what it should.`, RUN_FAILED);
  return manifest;
}

export function countsText(counts: Counts): string {
  const outcomes = Object.keys(OUTCOMES) as LineOutcome[];
  const rows = outcomes.map((outcome) => [outcome, counts[outcome].toLocaleString('en'), OUTCOMES[outcome]]);
  return textTable(['outcome', 'lines', 'meaning'], rows);
}

interface Summarized {
  counts: Counts;
  resultKey: string | null;
  manifestKey: string | null;
}

/** The first lines that were not applied: line numbers, names of errors and fields; no id and no value. */
export async function failuresText(
  store: BatchStore,
  { counts, resultKey, manifestKey }: Summarized,
): Promise<string[]> {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.APPLIED;
  if (resultKey === null || all === 0) return [];
  const failures = await firstFailures(store, resultKey);
  const rows = failures.map(({ line, outcome, error, status, attempts, fields }) => [
    ...[String(line), outcome, error ?? '', statusText(status), String(attempts)],
    (fields ?? []).join(', '),
  ]);
  const more = all > failures.length ? `\n  … and ${(all - failures.length).toLocaleString('en')} more` : '';
  const headings = ['line', 'outcome', 'error', 'status', 'attempts', 'fields'];
  return ['', `${textTable(headings, rows)}${more}`, '', plainLine(`Result: ${resultKey}, ${manifestKey}`)];
}

function statusText(status: number | null): string {
  return status === 404 ? '404: no such customer' : String(status ?? '');
}

const SHOWN = 20;

async function firstFailures(store: BatchStore, resultKey: string): Promise<ResultLine[]> {
  const object = await store.stream(resultKey);
  if (!object) throw new CommandError(`There is no object ${resultKey}.`, RUN_FAILED);
  const failures: ResultLine[] = [];
  for await (const { bytes } of lineBlocks(object.chunks)) {
    failures.push(...parseResults(bytes.toString('utf8')).filter(({ outcome }) => outcome !== 'APPLIED'));
    if (failures.length >= SHOWN) break;
  }
  return failures.slice(0, SHOWN);
}

/** Number of objects to read at the same time. */
const AT_ONCE = 8;

/** Counts the outcomes of a batch in progress from its result objects. It reads each object once. */
export class ResultTally {
  readonly counts: Counts = noCounts();
  /** Whether a function may have started to send. */
  begun = false;
  readonly #store: BatchStore;
  readonly #prefix: string;
  readonly #seen = new Set<string>();

  constructor(store: BatchStore, batch: string) {
    this.#store = store;
    this.#prefix = keysOf(batch).results;
  }

  get lines(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  /** Reads the results that are new since the last call. */
  async refresh(): Promise<void> {
    const keys = (await this.#store.list(this.#prefix)).map(({ key }) => key);
    this.begun ||= keys.length > 0;
    const fresh = keys.filter((key) => key.endsWith('.jsonl') && !this.#seen.has(key));
    for (let at = 0; at < fresh.length; at += AT_ONCE) {
      await Promise.all(fresh.slice(at, at + AT_ONCE).map((key) => this.#read(key)));
    }
  }

  async #read(key: string): Promise<void> {
    const object = await this.#store.read(key);
    this.#seen.add(key);
    for (const { outcome } of parseResults(object?.text ?? '')) this.counts[outcome] += 1;
  }

  /** The counts of a batch without a manifest: a line without a result may have been sent if any function started. */
  completed(records: number): Counts {
    const rest = Math.max(0, records - this.lines);
    const counts = { ...this.counts };
    counts[this.begun ? 'UNKNOWN' : 'NOT_SENT'] += rest;
    return counts;
  }
}

const LONGEST_NAME = 60;

/** `BATCH-r2`, then `BATCH-r3`. The name is fixed, so that two people who resume at the same time create one batch. */
export function resumedName(batch: string): string {
  const [, stem = batch, last = '1'] = /^(.+)-r(\d{1,4})$/.exec(batch) ?? [];
  const suffix = `-r${Number(last) + 1}`;
  if (stem.length + suffix.length <= LONGEST_NAME) return stem + suffix;
  return `${stem.slice(0, 40)}-${createHash('sha256').update(batch).digest('hex').slice(0, 8)}${suffix}`;
}

/** The batch that resumes another, once an execution has claimed it; otherwise `undefined`. */
export async function resumedBy(store: Pick<BatchStore, 'read'>, batch: string): Promise<string | undefined> {
  const name = resumedName(batch);
  return (await store.read(keysOf(name).started)) && name;
}

/** @throws CommandError (exit code 2) when there is no such batch */
export async function* inputOf(store: BatchStore, batch: string): AsyncGenerator<Uint8Array> {
  const object = await store.stream(keysOf(batch).input);
  if (!object) throw refused(`There is no batch ${batch} in the bucket.`);
  yield* object.chunks;
}

/** The known results of a batch, in the order of its lines: the whole result, or the parts that exist. */
export async function* resultsOf(store: BatchStore, batch: string): AsyncGenerator<Uint8Array> {
  const result = await store.stream(keysOf(batch).result);
  if (result) return yield* result.chunks;
  for (const { key } of await store.list(keysOf(batch).results)) {
    const part = key.endsWith('.jsonl') ? await store.stream(key) : undefined;
    if (part) yield* part.chunks;
  }
}

/** The newest results of a batch, including those of the batches that resumed it. */
export async function* latestResultsOf(store: BatchStore, batch: string): AsyncGenerator<Uint8Array> {
  const later = await resumedBy(store, batch);
  const own = resultsOf(store, batch);
  yield* later === undefined ? own : latestResults(own, latestResultsOf(store, later));
}

/** Largest error of this machine's clock: AWS refuses signatures beyond it, and the SDK then uses the AWS time. */
const CLOCK_MS = 300_000;
const LONGEST_MS = LONGEST_INVOCATION_SECONDS * 1000 + CLOCK_MS;
/** The pause is longer than the time for which functions cache the flag (`batch-state.ts`). */
const PAUSE_MS = 2000;

/**
 * Waits until no function of a stopped batch can send, because stopping an execution does not stop its functions. First
 * raises the stop flag, even for an old batch, because a redrive would send again. Then functions send only lines that
 * are claimed and have no result. It waits for these results, at most the time limit of a function after the stop.
 */
export async function drainBatch({ sfn, store }: UpdatesTarget, batch: string, stoppedAt: Date | undefined) {
  const awsNow = () => Date.now() + sfn.config.systemClockOffset;
  const end = (stoppedAt?.getTime() ?? awsNow()) + LONGEST_MS;
  const sentence = 'It was stopped, and what is left of it is sent as another batch.';
  const at = new Date().toISOString();
  await createStopFlag(store, keysOf(batch).stop).raise({ reason: 'UpdateStopped', sentence, at });
  const since = new Date(end - LONGEST_MS - LONGEST_INVOCATION_SECONDS * 1000);
  for (let reported = false; awsNow() < end; reported = true) {
    await setTimeout(PAUSE_MS);
    const open = await openClaims(store, batch, since);
    if (open === 0) return;
    const parts = open === 1 ? 'one part' : `${open} parts`;
    if (reported) continue;
    printErr(
      `Functions of ${batch} may still be sending: waiting for the results of ${parts}, until ${timeText(end)} UTC at most (the time limit of a function).`,
    );
  }
}

/**
 * The time until which functions of a stopped batch without a summary may send, such as `09:30:00`; `undefined` after
 * that time. It uses the clock of this machine, which may be wrong by some minutes.
 */
export function sendsUntil(stoppedAt: string): string | undefined {
  const end = Date.parse(stoppedAt) + LONGEST_MS;
  return Date.now() < end ? timeText(end) : undefined;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}
