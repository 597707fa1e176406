import { isDeepStrictEqual } from 'node:util';
import type { Entity } from '../config/entities.ts';
import { CHECKS } from '../gate/checks.ts';
import { type History, NO_HISTORY, type PublishedExport, type ReleasedBefore } from '../gate/history.ts';
import { failedChecks } from '../gate/report.ts';
import { parseJson } from '../json.ts';
import type { Run } from '../step/states.ts';
import type { Bucket } from '../storage/bucket.ts';
import { factsOf, type Manifest, manifestSchema } from './manifest.ts';
import { datePointerKey, type Pointer, pointerSchema } from './pointer.ts';

const MOST_COMPARED = 7;
const MOST_LOOKED_AT = 30;
/** The most first records, and the most endings, that a manifest carries on from earlier ones. */
const MOST_CARRIED = 20;

interface Wanted {
  entity: Entity;
  date: string;
  /** Tells whether a manifest has an equal plan. */
  matches: (manifest: Manifest) => boolean;
  /** What was kept until then may be gone. */
  today: string;
}

type Planned = Pick<Run, 'entity' | 'plan' | 'request'>;

/**
 * Whether a manifest is of the plan of a run. Those of earlier releases name no plan: their requests must agree, but for
 * the order of rows and the mail.
 */
export function planMatch(run: Planned, emailField: string): (manifest: Manifest) => boolean {
  const compared = ({ request }: Pick<Planned, 'request'>) => {
    const { sorts: _, [emailField]: __, ...others } = request;
    return others;
  };
  return (manifest) =>
    manifest.entity === run.entity &&
    (manifest.plan === null ? isDeepStrictEqual(compared(manifest), compared(run)) : manifest.plan === run.plan);
}

/** What is published, newest first, back to where a person let the guards begin anew. */
export async function readHistory(
  bucket: Pick<Bucket, 'list' | 'read'>,
  { entity, date, matches, today }: Wanted,
): Promise<History> {
  const ownKey = datePointerKey(entity, date);
  const history = structuredClone(NO_HISTORY);
  for (const key of await pointersOf(bucket, entity)) {
    const pointer = parseJson(pointerSchema, (await bucket.read(key))?.text);
    const own = key === ownKey;
    if (pointer === undefined || pointer.keptUntil > today) {
      const manifest = await manifestOf(bucket, pointer);
      if (!manifest && !own) history.unreadable += 1;
      if (manifest && pointer && matches(manifest)) add(history, manifest, pointer, own);
    }
    if (pointer?.newNormal || history.comparedWith.length === MOST_COMPARED) break;
  }
  return history;
}

/** Keys of the pointers of an entity, newest first. */
async function pointersOf(bucket: Pick<Bucket, 'list'>, entity: Entity): Promise<string[]> {
  const listed = await bucket.list(`published/entity=${entity}/date=`);
  return listed
    .slice(-MOST_LOOKED_AT)
    .reverse()
    .map(({ key }) => key);
}

/** A rerun of a date at which the history begins is compared with what the date has: there is nothing before it. */
function add(history: History, manifest: Manifest, { newNormal, released }: Pointer, own: boolean): void {
  const published = publishedOf(manifest);
  if (own) history.ofDate = published;
  if (!own || newNormal) history.comparedWith.push(published);
  if (released) remember(history.releasedBefore, releasedOf(manifest));
  if (manifest.releasedBefore) remember(history.releasedBefore, manifest.releasedBefore);
}

function publishedOf(manifest: Manifest): PublishedExport {
  const { date, execution, unchangedSince, file } = manifest;
  return { date, execution, unchangedSince, exportId: manifest.export.id, crc32: file.crc32, facts: factsOf(manifest) };
}

/** What the release of a file makes known of later ones: how it ends only where a person was asked about that. */
function releasedOf({ file: { content }, guards }: Manifest): ReleasedBefore {
  const { firstRecord = null, ending = null } = content ?? {};
  const stopped = guards ? failedChecks(guards).map(({ guard }) => guard) : [];
  const asked = CHECKS.some(({ id, ofEnding }) => ofEnding && stopped.includes(id));
  return { headers: firstRecord === null ? [] : [firstRecord], endings: ending && asked ? [ending] : [] };
}

/** The newest come first, and stay. */
function remember(known: ReleasedBefore, more: ReleasedBefore): void {
  known.headers = [...new Set([...known.headers, ...more.headers])].slice(0, MOST_CARRIED);
  const isNew = (one: ReleasedBefore['endings'][number]) => !known.endings.some((each) => isDeepStrictEqual(each, one));
  known.endings = [...known.endings, ...more.endings.filter(isNew)].slice(0, MOST_CARRIED);
}

async function manifestOf(bucket: Pick<Bucket, 'read'>, pointer: Pointer | undefined): Promise<Manifest | undefined> {
  return pointer && parseJson(manifestSchema, (await bucket.read(pointer.manifestKey))?.text);
}
