import type { ByteSource } from '../../core/file/byte-source.ts';
import type { Reading } from '../../core/file/read-content.ts';

/** A source that returns bytes in chunks, each in the memory of the one before; `reads` records the requested ranges. */
export function bytesSource(
  content: string | Uint8Array,
  chunkBytes = 64 * 1024,
  reads: [from: number, to: number][] = [],
): ByteSource {
  const bytes = Buffer.from(content);
  async function* read(from: number, to: number): AsyncGenerator<Uint8Array> {
    reads.push([from, to]);
    const chunk = Buffer.alloc(chunkBytes);
    for (let at = from; at < to; at += chunkBytes)
      yield chunk.subarray(0, bytes.copy(chunk, 0, at, Math.min(to, at + chunkBytes)));
  }
  return { size: bytes.length, read };
}

/** The reading of a file with the columns id and name. A third field is not requested. */
export function reading({
  expected,
  ...others
}: { expected?: Partial<Reading['expected']> } & Partial<Omit<Reading, 'expected'>> = {}): Reading {
  const fields = ['id', 'name', 'phone'].map((name) => ({ name, label: null }));
  return {
    expected: {
      columns: ['id', 'name'],
      fields,
      excepted: [],
      labels: {},
      formats: ['csv', 'xlsx'],
      opaque: [],
      headerless: false,
      ...expected,
    },
    what: 'The file',
    contentType: '',
    maxBytes: 100_000_000,
    secondsLeft: () => 900,
    undeclaredEnd: false,
    ...others,
  };
}
