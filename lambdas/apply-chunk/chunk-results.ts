import {
  type Doubt,
  parsePart,
  partText,
  RESULTS_PER_PART,
  type ResultLine,
  type Tries,
  triesOf,
} from '../../core/batch/batch-results.ts';
import type { ChunkPosition } from '../../core/batch/batch-state.ts';
import type { BatchKeys } from '../../core/batch/batch-store.ts';
import { RunError } from '../../core/errors.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

/**
 * The results of a chunk, in objects ("parts") that are each written once. Before the first line of a part is sent,
 * the part is claimed. An invocation that finds the claim of another one without its part closes it with an empty
 * part, which marks all its lines as in doubt, and claims the next part (docs/design/customer-updates.md).
 */
export class ChunkResults {
  /** Number of the next object. */
  part: number;
  /** The last line with a stored result. */
  lastLine: number;
  /** Number of lines that got a result in this invocation. */
  count = 0;
  /** Number of consecutive last lines that were answered 403 or by a web page. */
  forbidden: number;
  /** Whether another invocation closed the claim of this one, and handles its lines. */
  overtaken = false;
  /** The last result from before this invocation. */
  previous: ResultLine | undefined;
  readonly #store: Bucket;
  readonly #keys: BatchKeys;
  readonly #chunk: number;
  /** Request id of the invocation. */
  readonly #by: string;
  #open: ResultLine[] | undefined;
  /** Lines that an earlier invocation left in doubt. */
  #doubt: Doubt | undefined;
  /** The line that is being sent. */
  #current: { line: number; tries: Tries } | undefined;

  constructor(store: Bucket, keys: BatchKeys, of: { chunk: number; by: string }, position: ChunkPosition) {
    this.#store = store;
    this.#keys = keys;
    this.#chunk = of.chunk;
    this.#by = of.by;
    this.part = position.part;
    this.lastLine = position.line - 1;
    this.forbidden = position.forbidden;
  }

  /** Continues after the stored parts. */
  async skipStored(): Promise<void> {
    for (;;) {
      const text = (await this.#store.read(this.#keys.part(this.#chunk, this.part)))?.text;
      if (text === undefined) return;
      const { results, doubt } = parsePart(text);
      this.previous = results.at(-1) ?? this.previous;
      this.lastLine = this.previous?.line ?? this.lastLine;
      this.#doubt = doubt;
      this.part += 1;
    }
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
    this.lastLine = result.line;
    this.count += 1;
    // A 403 may also mean that the CRM is busy. A line that was not sent may have the error that stopped the batch.
    const isForbidden = result.status !== null && (result.error === 'AuthRefused' || result.error === 'ConfigInvalid');
    this.forbidden = isForbidden ? this.forbidden + 1 : 0;
    if (this.#open?.length === RESULTS_PER_PART) await this.store();
  }

  /** Writes the open part, even an empty one, because it closes the claim. */
  async store(): Promise<void> {
    if (!this.#open) return;
    if (await this.#putPart(this.#open, this.#doubtLeft())) this.part += 1;
    else this.overtaken = true;
    // Results are dropped only after the write, so that a failed write can be repeated.
    this.#open = undefined;
  }

  /** Claims the next part. An existing claim is closed first, so that each part has one writer. */
  async #claim(line: number): Promise<void> {
    const text = JSON.stringify({ doubt: { firstLine: line, records: RESULTS_PER_PART }, by: this.#by });
    while (line > this.lastLine) {
      const key = this.#keys.claim(this.#chunk, this.part);
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
    const key = this.#keys.part(this.#chunk, this.part);
    const text = partText(results, doubt);
    return (await this.#store.putOnce(key, text)) || (await this.#store.read(key))?.text === text;
  }
}
