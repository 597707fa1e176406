import type { BatchKeys } from '../../core/batch/batch-keys.ts';
import type { Place } from '../../core/batch/batch-state.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import {
  type Doubt,
  doubtIn,
  doubtOf,
  IN_DOUBT,
  NEVER_TRIED,
  parseDoubt,
  partText,
  RESULTS_PER_PART,
  type Tries,
} from '../../core/batch/chunk-parts.ts';
import { parseResults, type ResultLine } from '../../core/batch/result-line.ts';

/**
 * The results of a chunk, in objects that are written once each. Before the first line of an object is sent, a claim says
 * so: where the claim stands without its object, its invocation died or is still under way, and its lines may have been
 * sent. Who finds such a claim closes it with an object that has no results and all its lines in doubt, and claims the next:
 * lines are sent only under a claim of one's own, and whoever comes later knows of them. What an invocation knows of lines
 * that it did not come through with stands in the object too: results and doubts are one write.
 */
export class ChunkResults {
  /** Number of the next object. */
  part: number;
  /** The last line that has a result already. */
  lastLine: number;
  /** Lines that got one in this invocation. */
  count = 0;
  /** The last so many lines were answered 403. */
  forbidden: number;
  /** Another invocation closed the claim of this one: it knows which lines may have been sent, sends and tells them itself. */
  overtaken = false;
  /** The last result that stood before this invocation. */
  standing: ResultLine | undefined;
  readonly #store: BatchStore;
  readonly #keys: BatchKeys;
  readonly #chunk: number;
  readonly #by: string;
  #open: ResultLine[] | undefined;
  /** Lines that an earlier invocation left in doubt, and that are still to come. */
  #doubt: Doubt | undefined;
  /** The line that is being sent. */
  #current: { line: number; tries: Tries } | undefined;

  /** @param of the chunk, and the request id of the invocation */
  constructor(store: BatchStore, keys: BatchKeys, of: { chunk: number; by: string }, place: Place) {
    [this.#store, this.#keys, this.#chunk, this.#by] = [store, keys, of.chunk, of.by];
    this.part = place.part;
    this.lastLine = place.line - 1;
    this.forbidden = place.forbidden ?? 0;
    this.#doubt = doubtOf(place);
  }

  /** Goes on behind what a repeated invocation finds there: its lines count as they stand. */
  async skipStanding(): Promise<void> {
    for (;;) {
      const text = (await this.#store.read(this.#keys.part(this.#chunk, this.part)))?.text;
      if (text === undefined) return;
      this.standing = parseResults(text).at(-1) ?? this.standing;
      this.lastLine = this.standing?.line ?? this.lastLine;
      this.#doubt = doubtIn(text);
      this.part += 1;
    }
  }

  /**
   * @returns what is known of the line, or `undefined` where another invocation has told it meanwhile. Whoever sends it keeps
   *   this up to date, for it may have to be handed on.
   */
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

  /** Writes what is open; an empty object too, for it says that its claim came to nothing. */
  async store(): Promise<void> {
    if (!this.#open) return;
    if (await this.#putPart(this.#open, this.#doubtLeft())) this.part += 1;
    else this.overtaken = true;
    // Not before it stands: an attempt that failed may be repeated.
    this.#open = undefined;
  }

  /** Says before it is sent which lines a part may hold. A claim that stands is closed first: no part has two writers. */
  async #claim(line: number): Promise<void> {
    const text = JSON.stringify({ firstLine: line, records: RESULTS_PER_PART, by: this.#by });
    while (line > this.lastLine) {
      const key = this.#keys.claim(this.#chunk, this.part);
      if (await this.#store.putOnce(key, text)) return;
      const standing = (await this.#store.read(key))?.text ?? '';
      // The client repeats a write whose answer was lost, and is refused by what it wrote itself.
      if (standing === text && this.#by !== '') return;
      // Where its invocation was faster, its own object stands there now.
      await this.#putPart([], parseDoubt(standing));
      await this.skipStanding();
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

  /** @returns whether it stands there, by this write or, where its answer was lost, by one before. */
  async #putPart(results: ResultLine[], doubt: Doubt | undefined): Promise<boolean> {
    const [key, text] = [this.#keys.part(this.#chunk, this.part), partText(results, doubt)];
    return (await this.#store.putOnce(key, text)) || (await this.#store.read(key))?.text === text;
  }
}
