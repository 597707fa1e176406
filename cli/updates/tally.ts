import { type Counts, noCounts, parseResults } from '../../core/batch/batch-results.ts';
import { type BatchStore, keysOf } from '../../core/batch/batch-store.ts';

/** Objects that are read at the same time. */
const AT_ONCE = 8;

/** Counts the outcomes of a batch while it is under way, from its results: each of these objects is read once. */
export class ResultTally {
  readonly counts: Counts = noCounts();
  /** Whether some function was about to send. */
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

  /** Reads what has come since the last time. */
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

  /** What can be said of a batch that left no manifest: a line without a result may have been sent if any was. */
  completed(records: number): Counts {
    const rest = Math.max(0, records - this.lines);
    const counts = { ...this.counts };
    counts[this.begun ? 'UNKNOWN' : 'NOT_SENT'] += rest;
    return counts;
  }
}
