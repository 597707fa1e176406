import type { BatchStore } from '../shared/storage/batch-store.ts';
import type { BatchKeys } from '../shared/updates/batch-keys.ts';
import { RESULTS_PER_PART } from '../shared/updates/chunk-parts.ts';
import { parseResults } from '../shared/updates/parse-results.ts';
import { type ResultLine, resultLineText } from '../shared/updates/result-line.ts';

/**
 * The results of a chunk, in objects that are written once each. Before the first line of an object is sent, a claim says
 * so: where the claim stands without its object, somebody died in between, and its lines may have been sent.
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
  #open: ResultLine[] | undefined;
  /** Lines of an earlier claim without results that are still to come. */
  #doubtful = 0;

  constructor(store: BatchStore, keys: BatchKeys, chunk: number, place: { part: number; line: number }) {
    [this.#store, this.#keys, this.#chunk] = [store, keys, chunk];
    this.part = place.part;
    this.lastLine = place.line - 1;
  }

  /** Goes on behind what a repeated invocation finds there: its lines count as they stand. */
  async skipStanding(): Promise<void> {
    for (;;) {
      const standing = await this.#store.read(this.#keys.part(this.#chunk, this.part));
      if (!standing) return;
      this.lastLine = parseResults(standing.text).at(-1)?.line ?? this.lastLine;
      this.part += 1;
    }
  }

  /** @returns whether an invocation that died may have sent the line. */
  async begin(line: number): Promise<boolean> {
    if (!this.#open) {
      this.#open = [];
      const claim = JSON.stringify({ firstLine: line, records: RESULTS_PER_PART });
      const fresh = await this.#store.putOnce(this.#keys.claim(this.#chunk, this.part), claim);
      this.#doubtful = fresh ? 0 : RESULTS_PER_PART;
    }
    this.#doubtful -= 1;
    return this.#doubtful >= 0;
  }

  async add(result: ResultLine): Promise<void> {
    this.#open?.push(result);
    this.lastLine = result.line;
    this.count += 1;
    if (this.#open?.length === RESULTS_PER_PART) await this.store();
  }

  /** Writes what is open; an empty object too, for it says that its claim came to nothing. */
  async store(): Promise<void> {
    let open = this.#open;
    this.#open = undefined;
    while (open && !(await this.#putPart(open))) {
      // Another invocation of the same chunk was first: what it has counts, the rest is added.
      await this.skipStanding();
      open = open.filter(({ line }) => line > this.lastLine);
      if (open.length === 0) return;
    }
    if (!open) return;
    this.part += 1;
    this.lastLine = open.at(-1)?.line ?? this.lastLine;
  }

  #putPart(results: ResultLine[]): Promise<boolean> {
    return this.#store.putOnce(this.#keys.part(this.#chunk, this.part), results.map(resultLineText).join(''));
  }
}
