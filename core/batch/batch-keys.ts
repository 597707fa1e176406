const INPUT_KEY = /^updates\/([A-Za-z0-9-]{1,60})\/input\.jsonl$/;

/** The batch of which this is the key of the input; `undefined` where it is none. */
export function batchOfInput(key: string): string | undefined {
  return INPUT_KEY.exec(key)?.[1];
}

/** What the key of a claim ends in. */
export const CLAIM = '.begun.json';

/** Keys of everything of a batch in the bucket. */
export function keysOf(batch: string) {
  const folder = `updates/${batch}/`;
  const chunkOf = (chunk: number) => `${folder}results/chunk-${String(chunk).padStart(4, '0')}.`;
  return {
    input: `${folder}input.jsonl`,
    /** The claim of the one execution that applies the batch. */
    started: `${folder}_started.json`,
    chunks: `${folder}chunks.jsonl`,
    /** No line is sent while this object exists. */
    stop: `${folder}stop.json`,
    /** An empty object for each line that failed, where failures are counted. */
    failures: `${folder}failures/`,
    results: `${folder}results/`,
    /** Prefix of the results of a chunk. */
    chunkOf,
    /** The claim of a part, which is written before its lines are sent, and after. */
    claim: (chunk: number, part: number) => `${chunkOf(chunk)}${numbered(part)}${CLAIM}`,
    part: (chunk: number, part: number) => `${chunkOf(chunk)}${numbered(part)}.jsonl`,
    result: `${folder}result.jsonl`,
    manifest: `${folder}_manifest.json`,
  };
}

export type BatchKeys = ReturnType<typeof keysOf>;

function numbered(part: number): string {
  return String(part).padStart(6, '0');
}

/** One invocation validates so much with time and memory to spare, even with the shortest lines (docs/adr/0016). */
export const LARGEST_INPUT_BYTES = 256 * 1024 * 1024;
