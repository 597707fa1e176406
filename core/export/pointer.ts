import * as z from 'zod/mini';
import { type Entity, entitySchema } from '../config/entities.ts';
import { RunError } from '../errors.ts';
import { parseJson, strictText } from '../json.ts';
import { kindSchema } from '../step/states.ts';
import { type Bucket, writeOver } from '../storage/bucket.ts';
import { isOfEarlierRelease, LAYOUT, layoutVersion } from './layout.ts';

/** Names the run of a date, or the newest. Read loosely: after a rollback the pointers of the later release remain. */
export const pointerSchema = z.object({
  schemaVersion: layoutVersion,
  entity: entitySchema,
  date: z.iso.date().check(z.describe('The logical date of the export.')),
  startedAt: z.iso
    .datetime()
    .check(
      z.describe(
        'When the run was started: of two runs of one date the later counts, but a partial one never before another.',
      ),
    ),
  execution: z.string().check(z.describe('Name of the Step Functions execution.')),
  manifestKey: z.string().check(z.describe('Key of the manifest, which names the file.')),
  keptUntil: z.iso
    .date()
    .check(z.describe('From this day on the lifecycle rules may remove the run and this pointer.')),
  kind: kindSchema.check(
    z.describe('full: all records. window: records of a span of dates. partial: a plan other than the configured.'),
  ),
  released: z
    .boolean()
    .check(z.describe('A guard had stopped the file and a person released it: `_release.json` beside its manifest.')),
  newNormal: z
    .boolean()
    .check(z.describe('Guards compare later files with this date and those after it, not with earlier ones.')),
});
export type Pointer = z.infer<typeof pointerSchema>;

const writtenSchema = z.extend(pointerSchema, { schemaVersion: z.literal(LAYOUT) });

/** What decides which run is further on, and what stays with the date. */
const namedRunSchema = z.pick(pointerSchema, {
  date: true,
  startedAt: true,
  execution: true,
  kind: true,
  newNormal: true,
});
type NamedRun = z.infer<typeof namedRunSchema>;
export type OrderedRun = Pick<NamedRun, 'date' | 'startedAt' | 'execution' | 'kind'>;

/** Where the objects of a run lie. @param execution its name, which may have any letters */
export const runPrefix = (entity: Entity, execution: string) =>
  `runs/entity=${entity}/run=${encodeURIComponent(execution)}/`;
export const datePointerKey = (entity: Entity, date: string) => `published/entity=${entity}/date=${date}.json`;
export const latestPointerKey = (entity: Entity) => `published/entity=${entity}/latest.json`;

/** Runs that publish the same entity at the same moment lose a few rounds at most. */
const ROUNDS = 10;

/** A pointer as it was read. */
export interface Standing {
  key: string;
  /** `undefined` where there is none yet, or that of an earlier release. */
  run: NamedRun | undefined;
  /** The tag of the object that a pointer has to replace; `undefined` where there is none. */
  etag: string | undefined;
}

/** @throws RunError `StorageConflict` when the object there does not say which run it names. */
export async function readPointer(bucket: Pick<Bucket, 'read'>, key: string): Promise<Standing> {
  const { text, etag } = (await bucket.read(key)) ?? {};
  const counts = text !== undefined && !isOfEarlierRelease(text);
  return { key, run: counts ? parseNamedRun(key, text) : undefined, etag };
}

/**
 * Moves a pointer forward (`compareRuns`); one that is at this run or further stays. `newNormal` stays with its date.
 * @param standing as it was read; read again where others have moved it
 * @returns whether it names this run now
 * @throws RunError `StorageConflict` when the object is no pointer, `StorageUnavailable` when it keeps changing
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
  throw new RunError('StorageUnavailable', `The pointer ${key} was moved by others ${ROUNDS} times in a row.`);
}

/**
 * Orders runs by date, then by plan (any run of the configured one is ahead of every partial one), then by start, then
 * by name. A negative number: the first is behind.
 */
export function compareRuns(a: OrderedRun, b: OrderedRun): number {
  const partsOf = ({ date, kind, startedAt, execution }: OrderedRun) => [
    ...[date, kind === 'partial' ? '0' : '1', new Date(startedAt).toISOString(), execution],
  ];
  const ours = partsOf(a);
  const theirs = partsOf(b);
  const differs = ours.findIndex((part, index) => part !== theirs[index]);
  if (differs === -1) return 0;
  return String(ours[differs]) < String(theirs[differs]) ? -1 : 1;
}

function parseNamedRun(key: string, text: string): NamedRun {
  const run = parseJson(namedRunSchema, text);
  if (run) return run;
  const what = `The object at ${key} is no pointer of this software; remove it if nobody needs it.`;
  throw new RunError('StorageConflict', what);
}
