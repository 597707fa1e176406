/** Where everything of a batch lies in the bucket. */
export function keysOf(batch: string) {
  const folder = `updates/${batch}/`;
  const chunkOf = (chunk: number) => `${folder}results/chunk-${String(chunk).padStart(4, '0')}.`;
  return {
    input: `${folder}input.jsonl`,
    /** The claim of the one execution that applies the batch. */
    started: `${folder}_started.json`,
    chunks: `${folder}chunks.jsonl`,
    /** There: nothing more is sent. */
    stop: `${folder}stop.json`,
    /** An empty object for each line that failed, where failures are counted. */
    failures: `${folder}failures/`,
    results: `${folder}results/`,
    /** What the objects of a chunk's results begin with. */
    chunkOf,
    /** Written before the lines of a part are sent, and after. */
    claim: (chunk: number, part: number) => `${chunkOf(chunk)}${numbered(part)}.begun.json`,
    part: (chunk: number, part: number) => `${chunkOf(chunk)}${numbered(part)}.jsonl`,
    result: `${folder}result.jsonl`,
    manifest: `${folder}_manifest.json`,
  };
}

export type BatchKeys = ReturnType<typeof keysOf>;

function numbered(part: number): string {
  return String(part).padStart(6, '0');
}

/** What one invocation validates with time and memory to spare, of the shortest lines too (docs/adr/0016). */
export const LARGEST_INPUT_BYTES = 256 * 1024 * 1024;
