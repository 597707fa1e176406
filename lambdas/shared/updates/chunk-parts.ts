import * as z from 'zod';
import type { BatchStore } from '../storage/batch-store.ts';
import type { BatchKeys } from './batch-keys.ts';
import { parseResults } from './parse-results.ts';
import type { ResultLine } from './result-line.ts';

/** Results in one object: a function that dies leaves at most so many lines in doubt. */
export const RESULTS_PER_PART = 100;

/** What stands in a claim: from which line on, how many records its part may hold. */
const claimSchema = z.object({ firstLine: z.int(), records: z.int() });

/** What the bucket knows of a chunk. */
export interface ChunkParts {
  /** By line. */
  results: Map<number, ResultLine>;
  /** Claims without results: their lines may have been sent. */
  doubtful: { firstLine: number; records: number }[];
}

export async function readParts(store: BatchStore, keys: BatchKeys, chunk: number): Promise<ChunkParts> {
  const found = await store.list(keys.chunkOf(chunk));
  const texts = new Map(
    await Promise.all(found.map(async (key) => [key, (await store.read(key))?.text ?? ''] as const)),
  );
  const results = new Map<number, ResultLine>();
  const doubtful: ChunkParts['doubtful'] = [];
  for (const [key, text] of texts) {
    if (!key.endsWith('.begun.json')) {
      for (const result of parseResults(text)) results.set(result.line, result);
    } else if (!texts.has(key.replace('.begun.json', '.jsonl'))) {
      doubtful.push(claimSchema.parse(JSON.parse(text)));
    }
  }
  return { results, doubtful };
}
