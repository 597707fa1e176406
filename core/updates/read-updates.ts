import { refusalAtSight, type UpdateFormat } from './file-format.ts';
import { pieces } from './line-blocks.ts';
import type { UpdateEntry } from './record-check.ts';
import { type LineRules, STRICT } from './update-line.ts';

/** Entries that were read at once, which is faster. */
export interface UpdateBlock {
  entries: UpdateEntry[];
  /** Physical lines of the file up to here. */
  lines: number;
}

/** `JSONL` (read-jsonl.ts), or `CSV` (read-csv.ts), which only the command reads. */
export interface UpdateReader {
  format: UpdateFormat;
  read: (bytes: AsyncIterable<Uint8Array>, rules: LineRules) => AsyncGenerator<UpdateBlock>;
}

/**
 * Reads a file of customer updates of any size: valid records and problems, in the order of the lines. Memory grows by about
 * 40 bytes for each record (ids, to find duplicates). Never throws for the content of the file.
 */
export async function* readUpdates(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateEntry, void> {
  for await (const { entries } of readUpdateBlocks(reader, bytes, rules)) yield* entries;
}

/** Reads what `readUpdates` reads, in blocks. */
export async function* readUpdateBlocks(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateBlock, void> {
  const source = pieces(bytes);
  try {
    const { value: first = new Uint8Array() } = await source.next();
    const refused = first.length === 0 ? 'is empty' : refusalAtSight(reader.format, first);
    if (refused) return yield { entries: [{ line: 0, field: null, sentence: refused }], lines: 0 };
    let found = 0;
    let lines = 0;
    for await (const block of reader.read(chained(first, source), rules)) {
      found += block.entries.length;
      lines = block.lines;
      yield block;
    }
    if (found === 0) yield { entries: [{ line: 0, field: null, sentence: 'holds no record to update' }], lines };
  } finally {
    await source.return(undefined);
  }
}

async function* chained(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
