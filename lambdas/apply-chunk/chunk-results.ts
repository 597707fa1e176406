import type { BatchStore } from '../shared/storage/batch-store.ts';
import type { BatchKeys } from '../shared/updates/batch-keys.ts';
import {
  type Doubt,
  doubtIn,
  IN_DOUBT,
  NEVER_TRIED,
  parseDoubt,
  partText,
  RESULTS_PER_PART,
  type Tries,
} from '../shared/updates/chunk-parts.ts';
import { parseResults } from '../shared/updates/parse-results.ts';
import type { ResultLine } from '../shared/updates/result-line.ts';

/**
 * The results of a chunk, in objects that are written once each. Before the first line of an object is sent, a claim says
 * so: where the claim stands without its object, somebody died in between, and its lines may have been sent. What an
 * invocation knows of lines that it did not come through with stands in the object too: results and doubts are one write.
 */
export class ChunkResults {
  /** Number of the next object. */
  part: number;
  /** The last line that has a result already. */
  lastLine: number;
  /** Lines that got one in this invocation. */
  count = 0;
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
  constructor(
    store: BatchStore,
    keys: BatchKeys,
    of: { chunk: number; by: string },
    place: { part: number; line: number },
  ) {
    [this.#store, this.#keys, this.#chunk, this.#by] = [store, keys, of.chunk, of.by];
    this.part = place.part;
    this.lastLine = place.line - 1;
  }

  /** Goes on behind what a repeated invocation finds there: its lines count as they stand. */
  async skipStanding(): Promise<void> {
    for (;;) {
      const standing = await this.#store.read(this.#keys.part(this.#chunk, this.part));
      if (!standing) return;
      this.lastLine = parseResults(standing.text).at(-1)?.line ?? this.lastLine;
      this.#doubt = doubtIn(standing.text);
      this.part += 1;
    }
  }

  /** @returns what is known of the line. Whoever sends it keeps this up to date, for it may have to be handed on. */
  async begin(line: number): Promise<Tries> {
    this.#open ??= await this.#claim(line);
    const tries = this.#known(line);
    this.#current = { line, tries };
    return tries;
  }

  async add(result: ResultLine): Promise<void> {
    this.#open?.push(result);
    this.#current = undefined;
    this.lastLine = result.line;
    this.count += 1;
    if (this.#open?.length === RESULTS_PER_PART) await this.store();
  }

  /** Writes what is open; an empty object too, for it says that its claim came to nothing. */
  async store(): Promise<void> {
    const begin = this.#open?.[0]?.line ?? this.lastLine + 1;
    let doubt = this.#doubtLeft();
    while (this.#open && !(await this.#putPart(this.#open, doubt))) {
      // Another invocation of the same chunk was first: what it has counts, the rest is added, and all doubts are kept.
      this.lastLine = begin - 1;
      await this.skipStanding();
      this.#open = this.#open.filter(({ line }) => line > this.lastLine);
      const last = this.#open.at(-1)?.line ?? this.lastLine;
      doubt = (doubt ?? this.#doubt) && { firstLine: last + 1, records: RESULTS_PER_PART, tries: null };
      if (this.#open.length === 0 && !doubt) this.#open = undefined;
    }
    if (!this.#open) return;
    this.part += 1;
    this.lastLine = this.#open.at(-1)?.line ?? this.lastLine;
    // Not before it stands: an attempt that failed may be repeated.
    this.#open = undefined;
  }

  /** Says before it is sent which lines a part may hold. */
  async #claim(line: number): Promise<ResultLine[]> {
    const key = this.#keys.claim(this.#chunk, this.part);
    const text = JSON.stringify({ firstLine: line, records: RESULTS_PER_PART, by: this.#by });
    const standing = (await this.#store.putOnce(key, text)) ? text : ((await this.#store.read(key))?.text ?? '');
    // The client repeats a write whose answer was lost, and is refused by what it wrote itself.
    if (standing !== text || this.#by === '') this.#doubt = parseDoubt(standing);
    return [];
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
