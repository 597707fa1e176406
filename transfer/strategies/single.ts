import { crc32 } from 'node:zlib';
import { combineCrc32 } from '../base/crc32.ts';
import { ALL_PARTS, growingPartBytes, partsOf } from '../base/plan.ts';
import { TransferError } from '../base/transfer-error.ts';
import type { Resume } from '../base/types.ts';
import { type Probe, WholeReader } from '../source/reader.ts';
import type { StoredPart } from '../store/part-upload.ts';
import { crc32Of } from '../store/store.ts';
import type { Attempt } from './attempt.ts';
import { type Moving, movePart } from './move-part.ts';

/** The parts from the first on without a gap: what a file that is read from its start can go on from. */
function prefixOf(parts: readonly StoredPart[]): StoredPart[] {
  const sorted = parts.toSorted((a, b) => a.number - b.number);
  const gap = sorted.findIndex(({ number }, index) => number !== index + 1);
  return gap < 0 ? sorted : sorted.slice(0, gap);
}

const bytesOf = (parts: readonly StoredPart[]) => parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** One GET of a file of known size, cut into parts that stream through. */
export async function fetchSingle(
  attempt: Attempt,
  upload: Resume & { size: number },
  before: readonly StoredPart[],
  probe?: Probe,
): Promise<StoredPart[]> {
  const parts = partsOf(upload.size, upload.partBytes);
  const stored = prefixOf(before).filter(({ number, bytes }) => {
    const part = parts[number - 1];
    return part && bytes === part.to - part.from;
  });
  attempt.stored(bytesOf(stored), upload.size);
  const { store, context } = attempt;
  const delivered = () => {
    const { crc32: begun = 0, bytes = 0 } = moving.current ?? {};
    return combineCrc32(crc32Of(stored), begun, bytes);
  };
  const reader = new WholeReader(attempt.source, upload.size, delivered, { offset: bytesOf(stored), probe });
  const moving: Moving = {
    store,
    context,
    upload,
    reader,
    moved: (bytes) => {
      attempt.moved += bytes;
    },
  };
  try {
    for (const part of parts.slice(stored.length)) {
      if (!attempt.mayBegin()) break;
      const began = performance.now();
      moving.current = undefined;
      stored.push(await movePart(moving, part));
      moving.current = undefined;
      attempt.took((performance.now() - began) / 1000);
      attempt.stored(part.to - part.from, upload.size);
    }
    if (stored.length === parts.length) await reader.finish();
    return stored;
  } finally {
    reader.close();
  }
}

/** The bytes of one part of a file whose size is not known: the part must be whole before it can be declared. */
export async function fill(reader: WholeReader, buffer: Buffer, measured: (chunk: Buffer) => void): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const chunk = await reader.read(buffer.length - filled);
    if (!chunk) break;
    chunk.copy(buffer, filled);
    measured(chunk);
    filled += chunk.length;
  }
  return filled;
}

export interface Grown {
  stored: StoredPart[];
  /** Whether the end of the file was reached. */
  whole: boolean;
  /** The whole file, where it was smaller than a part. */
  small?: Buffer;
  undeclaredEnd: boolean;
}

/** One GET of a file of unknown size, gathered into parts. */
export async function fetchGrowing(
  attempt: Attempt,
  open: (first: Buffer) => Promise<Resume>,
  before: { upload: Resume | null; parts: readonly StoredPart[] },
  probe?: Probe,
): Promise<Grown> {
  const { bufferedPartBytes } = attempt.context.limits;
  const stored = prefixOf(before.parts);
  let checksum = crc32Of(stored);
  let total = bytesOf(stored);
  attempt.stored(total, null);
  const reader = new WholeReader(attempt.source, null, () => checksum, { offset: total, probe });
  let upload = before.upload;
  // One part is on its way while the next is gathered.
  const sending: Promise<StoredPart>[] = [];
  const sent = async () => {
    for (const part of sending.splice(0)) stored.push(await part);
  };
  const send = (to: Resume, number: number, body: Buffer) => {
    const part = attempt.store.putPart(to, number, body);
    // A failure is told to who waits for the part, which nobody does yet.
    part.catch(() => undefined);
    sending.push(part);
  };
  try {
    while (attempt.mayBegin()) {
      const number = stored.length + sending.length + 1;
      const buffer = Buffer.allocUnsafe(growingPartBytes(number, bufferedPartBytes));
      const filled = await fill(reader, buffer, (chunk) => {
        checksum = crc32(chunk, checksum);
        attempt.moved += chunk.length;
      });
      total += filled;
      if (total > attempt.options.maxBytes || number > ALL_PARTS) throw tooLarge(attempt.options.maxBytes);
      const body = buffer.subarray(0, filled);
      const whole = filled < buffer.length;
      if (!upload && whole) return { stored, whole, small: body, undeclaredEnd: reader.undeclaredEnd };
      upload ??= await open(body);
      await sent();
      if (filled > 0) send(upload, number, body);
      attempt.stored(filled, null);
      if (whole) {
        await sent();
        return { stored, whole, undeclaredEnd: reader.undeclaredEnd };
      }
    }
    await sent();
    return { stored, whole: false, undeclaredEnd: false };
  } finally {
    reader.close();
  }
}

export function tooLarge(maxBytes: number): TransferError {
  return new TransferError(
    'too-large',
    `The file is larger than the ${maxBytes} bytes that are allowed, or than can be stored without knowing its size.`,
  );
}
