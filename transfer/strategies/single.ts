import { combineCrc32, crc32Of } from '../base/crc32.ts';
import { bytesOf, partsOf, prefixOf, type StoredPart } from '../base/parts.ts';
import type { Resume } from '../base/types.ts';
import type { Opened } from '../source/open.ts';
import { wholeReader } from '../source/reader.ts';
import type { PartUpload } from '../store/part-upload.ts';
import type { Attempt } from './attempt.ts';
import { movePart } from './part-mover.ts';

/**
 * One GET of a file of known size, cut into parts that stream through.
 * @returns the parts that the store has; all of them, unless time was up.
 */
export async function fetchSingle(
  attempt: Attempt,
  upload: Resume & { size: number },
  before: readonly StoredPart[],
  first?: Opened,
): Promise<StoredPart[]> {
  const parts = partsOf(upload.size, upload.partBytes);
  const stored = prefixOf(before).filter(({ number, bytes }) => {
    const part = parts[number - 1];
    return part && bytes === part.to - part.from;
  });
  attempt.stored(bytesOf(stored), upload.size);
  let sending: PartUpload | undefined;
  const crc32Before = () => {
    const { crc32 = 0, bytes = 0 } = sending ?? {};
    return combineCrc32(crc32Of(stored), crc32, bytes);
  };
  const reader = wholeReader(attempt.source, upload.size, crc32Before, { offset: bytesOf(stored), first });
  try {
    for (const part of parts.slice(stored.length)) {
      if (!attempt.mayBegin()) break;
      const moved = await movePart(attempt, upload, reader, part, (sent) => {
        sending = sent;
      });
      stored.push(moved);
    }
    if (stored.length === parts.length) await reader.finish();
    return stored;
  } finally {
    reader.close();
  }
}
