import {
  type Doubt,
  doubtIn,
  IN_DOUBT,
  NEVER_TRIED,
  parseDoubt,
  parseResults,
  partText,
  RESULTS_PER_PART,
  type ResultLine,
  type Tries,
} from '../../core/batch/batch-results.ts';
import type { ChunkPosition } from '../../core/batch/batch-state.ts';
import type { BatchKeys, BatchStore } from '../../core/batch/batch-store.ts';

/**
 * The results of a chunk, in objects ("parts") that are written once each. A claim is written before the first line of a part is
 * sent. Whoever finds the claim of another invocation without its part closes it with an empty part that marks all its lines as in
 * doubt, and claims the next: so lines are sent only under the sender's own claim (docs/design/customer-updates.md).
 */
export class ChunkResults {
  /** Number of the next object. */
  part: number;
  /** The last line that has a result already. */
  lastLine: number;
  /** Lines that got one in this invocation. */
  count = 0;
  /** How many of the last lines in a row were answered 403. */
  forbidden: number;
  /** Another invocation closed the claim of this one, and handles its lines. */
  overtaken = false;
  /** The last result from before this invocation. */
  previous: ResultLine | undefined;
  readonly #store: BatchStore;
  readonly #keys: BatchKeys;
  readonly #chunk: number;
  /** Request id of the invocation. */
  readonly #by: string;
  #open: ResultLine[] | undefined;
  /** Lines that an earlier invocation left in doubt. */
  #doubt: Doubt | undefined;
  /** The line that is being sent. */
  #current: { line: number; tries: Tries } | undefined;

  constructor(store: BatchStore, keys: BatchKeys, of: { chunk: number; by: string }, position: ChunkPosition) {
    this.#store = store;
    this.#keys = keys;
    this.#chunk = of.chunk;
    this.#by = of.by;
    this.part = position.part;
    this.lastLine = position.line - 1;
    this.forbidden = position.forbidden;
  }

  /** Continues behind the parts that are stored already. */
  async skipStored(): Promise<void> {
    for (;;) {
      const text = (await this.#store.read(this.#keys.part(this.#chunk, this.part)))?.text;
      if (text === undefined) return;
      this.previous = parseResults(text).at(-1) ?? this.previous;
      this.lastLine = this.previous?.line ?? this.lastLine;
      this.#doubt = doubtIn(text);
      this.part += 1;
    }
  }

  /** @returns what is known of the line, to be updated by the sender; `undefined` when its result is stored already. */
  async begin(line: number): Promise<Tries | undefined> {
    if (!this.#open) await this.#claim(line);
    if (line <= this.lastLine) return undefined;
    this.#open ??= [];
    const tries = this.#known(line);
    this.#current = { line, tries };
    return tries;
  }

  async add(result: ResultLine): Promise<void> {
    this.#open?.push(result);
    this.#current = undefined;
    this.lastLine = result.line;
    this.count += 1;
    this.forbidden = result.status === 403 ? this.forbidden + 1 : 0;
    if (this.#open?.length === RESULTS_PER_PART) await this.store();
  }

  /** Writes the open part, even an empty one: it closes the claim. */
  async store(): Promise<void> {
    if (!this.#open) return;
    if (await this.#putPart(this.#open, this.#doubtLeft())) this.part += 1;
    else this.overtaken = true;
    // The results leave the memory after the write, which may be repeated if it fails.
    this.#open = undefined;
  }

  /** An existing claim is closed first: no part has two writers. */
  async #claim(line: number): Promise<void> {
    const text = JSON.stringify({ firstLine: line, records: RESULTS_PER_PART, by: this.#by });
    while (line > this.lastLine) {
      const key = this.#keys.claim(this.#chunk, this.part);
      if (await this.#store.putOnce(key, text)) return;
      const existing = (await this.#store.read(key))?.text ?? '';
      // The client repeats a write whose response was lost, and finds its own claim.
      if (existing === text && this.#by !== '') return;
      // The part of the other invocation is there now, if that was faster.
      await this.#putPart([], parseDoubt(existing));
      await this.skipStored();
    }
  }

  #known(line: number): Tries {
    const { firstLine, records, tries } = this.#doubt ?? { firstLine: line, records: 0 };
    if (line < firstLine || records === 0) return { ...NEVER_TRIED };
    this.#doubt = { firstLine, records: records - 1, tries: null };
    return { ...((line === firstLine && tries) || IN_DOUBT) };
  }

  /** Lines without a result that were sent, or may have been. */
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
