import { type LineRules, STRICT } from './fast-check.ts';
import { refusalAtSight, type UpdateFormat } from './file-format.ts';
import { pieces } from './line-blocks.ts';
import type { UpdateEntry } from './record-check.ts';

/** `JSONL` (read-jsonl.ts), or `CSV` (read-csv.ts), which only the command reads. */
export interface UpdateReader {
  format: UpdateFormat;
  /** Returns the number of physical lines at its end. */
  read: (bytes: AsyncIterable<Uint8Array>, rules: LineRules) => AsyncGenerator<UpdateEntry[], { lines: number }>;
}

/**
 * Reads a file of customer updates of any size: valid records and problems, in the order of the lines. Memory grows by about
 * 40 bytes for each record (the ids, of which none may come twice). Never throws for the content of the file.
 *
 * @param bytes the whole file from its first byte.
 */
export async function* readUpdates(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateEntry, void> {
  for await (const entries of readUpdateBlocks(reader, bytes, rules)) yield* entries;
}

/** As `readUpdates`, many entries at once, which is faster. Returns the number of physical lines at its end. */
export async function* readUpdateBlocks(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateEntry[], { lines: number }> {
  const source = pieces(bytes);
  try {
    const { value: first = new Uint8Array() } = await source.next();
    const refused = first.length === 0 ? 'is empty' : refusalAtSight(reader.format, first);
    if (!refused) return yield* allOf(reader, chained(first, source), rules);
    yield [{ line: 0, field: null, sentence: refused }];
    return { lines: 0 };
  } finally {
    await source.return(undefined);
  }
}

async function* allOf(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules: LineRules,
): AsyncGenerator<UpdateEntry[], { lines: number }> {
  const reading = reader.read(bytes, rules);
  let entries = 0;
  let step = await reading.next();
  while (!step.done) {
    entries += step.value.length;
    yield step.value;
    step = await reading.next();
  }
  if (entries === 0) yield [{ line: 0, field: null, sentence: 'holds no record to update' }];
  return step.value;
}

async function* chained(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
