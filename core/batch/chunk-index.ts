import * as z from 'zod';

/** Children of one Distributed Map; a result of more could pass the 256 KB that its answers may have together. */
const MOST_CHUNKS = 1000;
/** A chunk of fewer lines is not worth a child. */
const SMALLEST_CHUNK = 100;
/** So many starts that chunks put together from them differ by an eighth at most. */
const MOST_STARTS = 16 * MOST_CHUNKS;

/** One line of `chunks.jsonl`: what one child applies. Holds no customer data. */
export const chunkSchema = z.strictObject({
  chunk: z.int().min(1).max(MOST_CHUNKS).describe('Number of the chunk, from 1.'),
  from: z.int().min(0).describe('First byte in input.jsonl.'),
  to: z.int().min(1).describe('First byte behind the chunk, which is the first one of the next.'),
  firstLine: z.int().min(1).describe('Number of the line that begins at "from".'),
  lastLine: z.int().min(1).describe('Number of the last line; lines without a record count.'),
  records: z.int().min(1).describe('Records in the chunk.'),
});
export type Chunk = z.infer<typeof chunkSchema>;

interface Start {
  line: number;
  from: number;
  records: number;
}

/** Cuts a file into chunks while it is read once: groups of records are noted, and joined by two when there are too many. */
export class ChunkIndex {
  #starts: Start[] = [];
  #groupSize = SMALLEST_CHUNK;

  /** Notes a record: its line, and the byte at which it begins. Lines come in order. */
  add(line: number, from: number): void {
    const open = this.#starts.at(-1);
    if (open && open.records < this.#groupSize) {
      open.records += 1;
      return;
    }
    if (this.#starts.length === MOST_STARTS) this.#halve();
    // The first chunk begins with the file, whatever is before its first record.
    this.#starts.push(open ? { line, from, records: 1 } : { line: 1, from: 0, records: 1 });
  }

  #halve(): void {
    const all = this.#starts;
    const first = all.filter((_, index) => index % 2 === 0);
    this.#starts = first.map((start, at) => ({ ...start, records: start.records + (all[2 * at + 1]?.records ?? 0) }));
    this.#groupSize *= 2;
  }

  /** The chunks of the whole file; they leave nothing out. */
  chunks(lines: number, bytes: number): Chunk[] {
    const count = Math.min(this.#starts.length, MOST_CHUNKS);
    const cut = (chunk: number) => Math.floor((chunk * this.#starts.length) / count);
    return Array.from({ length: count }, (_, index) => {
      const groups = this.#starts.slice(cut(index), cut(index + 1));
      const first = groups[0];
      const next = this.#starts[cut(index + 1)];
      return {
        chunk: index + 1,
        from: first?.from ?? 0,
        to: next?.from ?? bytes,
        firstLine: first?.line ?? 1,
        lastLine: next ? next.line - 1 : lines,
        records: groups.reduce((sum, group) => sum + group.records, 0),
      };
    });
  }
}

/** The text of `chunks.jsonl`. */
export function chunksText(chunks: Chunk[]): string {
  return chunks.map((chunk) => `${JSON.stringify(chunk)}\n`).join('');
}
