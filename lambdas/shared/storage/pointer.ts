import * as z from 'zod/mini';
import { type Entity, entitySchema } from '../entities.ts';
import { RunError } from '../errors.ts';
import type { Bucket } from './bucket.ts';

/** Names the run to read for a date (`date=YYYY-MM-DD.json`) or the newest (`latest.json`). Readers start here. */
export const pointerSchema = z.strictObject({
  schemaVersion: z.literal(1),
  entity: entitySchema,
  date: z.iso.date().check(z.describe('The logical date of the export.')),
  startedAt: z.iso.datetime().check(z.describe('When the run was started: of two runs of one date the later counts.')),
  execution: z.string().check(z.describe('Name of the Step Functions execution.')),
  manifestKey: z.string().check(z.describe('Key of the manifest, which names the file.')),
  keptUntil: z.iso
    .date()
    .check(z.describe('From this day on the lifecycle rules may remove the run and this pointer.')),
});
export type Pointer = z.infer<typeof pointerSchema>;

export const datePointerKey = (entity: Entity, date: string) => `published/entity=${entity}/date=${date}.json`;
export const latestPointerKey = (entity: Entity) => `published/entity=${entity}/latest.json`;

/** Runs that publish the same entity at the same moment move a pointer past each other; each loses at most a few rounds. */
const ROUNDS = 10;

/**
 * Moves a pointer forward: by date, then by the start of the run, then by its name. Finding it at this run or further is
 * success, so the later run wins whatever the order of arrival, and a repeated step changes nothing.
 * @returns whether it moved: `false` when it names this run or a later one already.
 * @throws RunError `StorageConflict` when the object there is no pointer, `StorageUnavailable` when it keeps changing.
 */
export async function movePointer(bucket: Bucket, key: string, pointer: Pointer): Promise<boolean> {
  const text = `${JSON.stringify(pointerSchema.parse(pointer), undefined, 2)}\n`;
  for (let round = 0; round < ROUNDS; round += 1) {
    const standing = await bucket.read(key);
    if (standing && comparePlaces(pointer, parsePointer(key, standing.text)) <= 0) return false;
    const moved = standing ? await bucket.replace(key, text, standing.etag) : await bucket.putOnce(key, text);
    if (moved) return true;
  }
  throw new RunError('StorageUnavailable', `The pointer ${key} was moved by others ${ROUNDS} times in a row.`);
}

type Place = Pick<Pointer, 'date' | 'startedAt' | 'execution'>;

/** Which of two runs is further on: by date, then by start, then by name. Negative: the first is behind. */
export function comparePlaces(a: Place, b: Place): number {
  const partsOf = ({ date, startedAt, execution }: Place) => [date, new Date(startedAt).toISOString(), execution];
  const [ours, theirs] = [partsOf(a), partsOf(b)];
  const differs = ours.findIndex((part, index) => part !== theirs[index]);
  if (differs === -1) return 0;
  return String(ours[differs]) < String(theirs[differs]) ? -1 : 1;
}

function parsePointer(key: string, text: string): Pointer {
  try {
    return pointerSchema.parse(JSON.parse(text));
  } catch {
    throw new RunError(
      'StorageConflict',
      `The object at ${key} is no pointer of this software; remove it if nobody needs it.`,
    );
  }
}
