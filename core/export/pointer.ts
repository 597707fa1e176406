import * as z from 'zod/mini';
import type { Entity } from '../config/entities.ts';
import { entitySchema } from '../config/entity-schema.ts';
import { RunError } from '../errors.ts';
import { strictText } from '../json.ts';
import { kindSchema } from '../step/states.ts';
import { type Bucket, writeOver } from '../storage/bucket.ts';
import { isOfEarlierRelease, LAYOUT, layoutVersion, storedAs } from './layout.ts';

/** Names the published run of a date, or the newest one. Parsed loosely: after a rollback, later pointers remain. */
export const pointerSchema = z.object({
  schemaVersion: layoutVersion,
  entity: entitySchema,
  date: z.iso.date().check(z.describe('The date of the export.')),
  startedAt: z.iso
    .datetime()
    .check(
      z.describe(
        'When the run was started. Of two runs for one date the later one counts, but a partial run never replaces one of another kind.',
      ),
    ),
  execution: z.string().check(z.describe('Name of the Step Functions execution.')),
  manifestKey: z.string().check(z.describe('Key of the manifest, which names the file.')),
  keptUntil: z.iso
    .date()
    .check(z.describe('From this day on, the lifecycle rules may remove the run and this pointer.')),
  kind: kindSchema.check(
    z.describe('full: all records. window: records of a span of dates. partial: a plan other than the configured one.'),
  ),
  released: z
    .boolean()
    .check(
      z.describe(
        'Whether a check had stopped the file, and a person released it (`_release.json` beside the manifest says why).',
      ),
    ),
  newNormal: z
    .boolean()
    .check(z.describe('Checks compare later files with this date and later dates, not with earlier ones.')),
});
export type Pointer = z.infer<typeof pointerSchema>;

const writtenSchema = z.extend(pointerSchema, { schemaVersion: z.literal(LAYOUT) });

/** The keys that show which of two runs is newer, and the keys that a later run of the same date keeps. */
const namedRunSchema = z.pick(pointerSchema, {
  date: true,
  startedAt: true,
  execution: true,
  kind: true,
  newNormal: true,
});
type NamedRun = z.infer<typeof namedRunSchema>;
export type OrderedRun = Pick<NamedRun, 'date' | 'startedAt' | 'execution' | 'kind'>;

/** The folder of the objects of a run. @param execution its name, which may contain any characters */
export const runPrefix = (entity: Entity, execution: string) =>
  `runs/entity=${entity}/run=${encodeURIComponent(execution)}/`;
export const manifestKeyOf = (entity: Entity, execution: string) => `${runPrefix(entity, execution)}_manifest.json`;
export const datePointerKey = (entity: Entity, date: string) => `published/entity=${entity}/date=${date}.json`;
export const latestPointerKey = (entity: Entity) => `published/entity=${entity}/latest.json`;

/** Runs that publish the same entity at the same moment repeat the write a few times at most. */
const ROUNDS = 10;

/** A pointer as it is stored. */
export interface Standing {
  key: string;
  /** `undefined` if no pointer exists, or only one of an earlier release. */
  run: NamedRun | undefined;
  /** The ETag of the object that a new pointer must replace; `undefined` if no object exists. */
  etag: string | undefined;
}

/** @throws RunError `StorageConflict` if the object names no run. */
export async function readPointer(bucket: Pick<Bucket, 'read'>, key: string): Promise<Standing> {
  const { text, etag } = (await bucket.read(key)) ?? {};
  const counts = text !== undefined && !isOfEarlierRelease(text);
  const problem = 'is not a pointer of this software. Remove it if you do not need it';
  return { key, run: counts ? storedAs(namedRunSchema, key, text, problem) : undefined, etag };
}

/**
 * Moves a pointer forward (`compareRuns`), never back. Another run of the same date keeps `newNormal`.
 * @param standing as it was read; the function reads it again if another run has moved it
 * @returns whether the pointer names this run now
 * @throws RunError `StorageConflict` if the object is not a pointer, `StorageUnavailable` if it keeps changing
 */
export async function movePointer(bucket: Bucket, standing: Standing, to: Pointer): Promise<boolean> {
  const { key } = standing;
  let { run, etag } = standing;
  for (let round = 0; round < ROUNDS; round += 1) {
    const ahead = run ? compareRuns(to, run) : 1;
    if (ahead <= 0) return ahead === 0;
    const stays = run?.date === to.date && run.newNormal;
    const text = strictText(writtenSchema, { ...to, newNormal: to.newNormal || stays });
    if (await writeOver(bucket, key, text, etag)) return true;
    ({ run, etag } = await readPointer(bucket, key));
  }
  throw new RunError('StorageUnavailable', `The pointer ${key} was changed by other runs ${ROUNDS} times in a row.`);
}

/**
 * Orders runs by date, then by plan (a run of the configured plan is newer than every partial run), then by start, then
 * by name. A negative result: the first run is older.
 */
export function compareRuns(a: OrderedRun, b: OrderedRun): number {
  const [ours = '', theirs = ''] = [a, b].map(({ date, kind, startedAt, execution }) =>
    [date, kind === 'partial' ? '0' : '1', new Date(startedAt).toISOString(), execution].join(' '),
  );
  if (ours === theirs) return 0;
  return ours < theirs ? -1 : 1;
}
