import { readFileSync, writeFileSync } from 'node:fs';
import { type FeedInput, writeFeed } from '../../../core/changes/write-feed.ts';

/** A file in memory, as hyparquet reads it. */
export function fileOf(bytes: Buffer) {
  return {
    byteLength: bytes.length,
    slice: (from: number, to = bytes.length) => new Uint8Array(bytes.subarray(from, to)).buffer,
  };
}

/** Writes the feed between two tables. */
export async function putFeed(
  path: string,
  { before, after, ...input }: { before: string | null; after: string } & Partial<Pick<FeedInput, 'key' | 'ignore'>>,
) {
  const parts: Uint8Array[] = [];
  const kind = before === null ? 'snapshot' : 'changes';
  const feed = await writeFeed(
    {
      before: before === null ? null : fileOf(readFileSync(before)),
      after: fileOf(readFileSync(after)),
      key: ['id'],
      ignore: [],
      place: {
        sequence: 7,
        kind,
        from: before === null ? null : { run: 'leads-1', date: '2026-11-21' },
        to: { run: 'leads-2', date: '2026-11-22' },
      },
      softwareVersion: '0.2.0',
      diskBytes: 1e9,
      onProgress: () => undefined,
      ...input,
    },
    async (bytes) => void parts.push(bytes),
  );
  writeFileSync(path, Buffer.concat(parts));
  return { ...feed, kind };
}
