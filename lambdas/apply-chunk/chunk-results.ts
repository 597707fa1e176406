import {
  type Doubt,
  parsePart,
  partText,
  RESULTS_PER_PART,
  type ResultLine,
  type Tries,
  triesOf,
} from '../../core/batch/batch-results.ts';
import type { Chunk } from '../../core/batch/batch-state.ts';
import { type BatchKeys, CLAIM } from '../../core/batch/batch-store.ts';
import { RunError } from '../../core/errors.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

/**
 * The results of a chunk, in objects ("parts") that are each written once. Before the first line of a part is sent, the
 * part is claimed. An invocation may find that another one has claimed a part and not stored it. In this case it stores
 * an empty part in its place, which marks all lines of the part as in doubt, and claims the next part
 * (docs/design/customer-updates.md).
 */
export class ChunkResults {
  /** The last line with a result. */
  lastLine: number;
  /** The result of `lastLine`; `undefined` until a result is read or added. */
  last: ResultLine | undefined;
  /** Number of lines that got a result in this invocation. */
  count = 0;
  /** Number of consecutive last lines that were answered 403 or by a web page. */
  forbidden = 0;
  /** Whether another invocation closed the claim of this one, and handles its lines. */
  overtaken = false;
  readonly #store: Bucket;
  readonly #keys: BatchKeys;
  readonly #chunk: number;
  /** Request id of the invocation. */
  readonly #by: string;
  /** Number of the next object. */
  #part = 1;
  #open: ResultLine[] | undefined;
  /** Lines that an earlier invocation left in doubt. */
  #doubt: Doubt | undefined;
  /** The line that is being sent. */
  #current: { line: number; tries: Tries } | undefined;

  constructor(store: Bucket, keys: BatchKeys, { chunk, firstLine }: Chunk, by: string) {
    this.#store = store;
    this.#keys = keys;
    this.#chunk = chunk;
    this.#by = by;
    this.lastLine = firstLine - 1;
  }

  /** Continues after the stored parts. Reads them from the last one back to a line that was not answered with 403. */
  async skipStored(): Promise<void> {
    const objects = await this.#store.list(this.#keys.chunkOf(this.#chunk));
    const parts = objects.flatMap(({ key }) => (key.endsWith(CLAIM) ? [] : [key]));
    this.#part = parts.length + 1;
    const last: ResultLine[] = [];
    for (const key of parts.toReversed()) {
      const { results, doubt } = parsePart((await this.#store.read(key))?.text ?? '');
      if (key === parts.at(-1)) this.#doubt = doubt;
      last.unshift(...results);
      if (!results.every(isForbidden)) break;
    }
    this.forbidden = 0;
    for (const result of last) this.#passed(result);
  }

  /** @returns the attempts of the line, which the sender updates; `undefined` if its result is stored already. */
  async begin(line: number): Promise<Tries | undefined> {
    if (!this.#open) await this.#claim(line);
    if (line <= this.lastLine) return undefined;
    this.#open ??= [];
    const tries = { ...triesOf(line, this.#doubt) };
    this.#current = { line, tries };
    return tries;
  }

  async add(result: ResultLine): Promise<void> {
    this.#open?.push(result);
    this.#current = undefined;
    this.count += 1;
    this.#passed(result);
    if (this.#open?.length === RESULTS_PER_PART) await this.store();
  }

  #passed(result: ResultLine): void {
    this.last = result;
    this.lastLine = result.line;
    this.forbidden = isForbidden(result) ? this.forbidden + 1 : 0;
  }

  /** Writes the open part, even an empty one, because it closes the claim. */
  async store(): Promise<void> {
    if (!this.#open) return;
    if (await this.#putPart(this.#open, this.#doubtLeft())) this.#part += 1;
    else this.overtaken = true;
    // Results are dropped only after the write, so that a failed write can be repeated.
    this.#open = undefined;
  }

  /** Claims the next part. An existing claim is closed first, so that each part has one writer. */
  async #claim(line: number): Promise<void> {
    const text = JSON.stringify({ doubt: { firstLine: line, records: RESULTS_PER_PART }, by: this.#by });
    while (line > this.lastLine) {
      const key = this.#keys.claim(this.#chunk, this.#part);
      if (await this.#store.putOnce(key, text)) return;
      const existing = (await this.#store.read(key))?.text ?? '';
      // If the client repeated a write whose response was lost, it finds its own claim.
      if (existing === text && this.#by !== '') return;
      // Has no effect if the other invocation has stored its part in the meantime.
      const { doubt } = parsePart(existing);
      if (!doubt) throw new RunError('StorageConflict', `The object at ${key} is not the claim of a part.`);
      await this.#putPart([], doubt);
      await this.skipStored();
    }
  }

  /** The lines without a result that were, or may have been, sent. */
  #doubtLeft(): Doubt | undefined {
    const records = this.#doubt?.records ?? 0;
    if (!this.#current) return records > 0 ? { firstLine: this.lastLine + 1, records, tries: null } : undefined;
    const { line, tries } = this.#current;
    return tries.attempts > 0 || tries.lost ? { firstLine: line, records: records + 1, tries } : undefined;
  }

  /** @returns whether the part is stored, by this write or by an earlier one whose response was lost. */
  async #putPart(results: ResultLine[], doubt: Doubt | undefined): Promise<boolean> {
    const key = this.#keys.part(this.#chunk, this.#part);
    const text = partText(results, doubt);
    return (await this.#store.putOnce(key, text)) || (await this.#store.read(key))?.text === text;
  }
}

/** A 403 may also mean that the CRM is busy. A line that was not sent may have the error that stopped the batch. */
function isForbidden({ status, error }: ResultLine): boolean {
  return status !== null && (error === 'AuthRefused' || error === 'ConfigInvalid');
}
