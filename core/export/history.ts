import { isDeepStrictEqual } from 'node:util';
import type { Deployment } from '../config/deployment.ts';
import type { Entity } from '../config/entities.ts';
import { CHECKS, UNKNOWN_HEADER } from '../gate/checks.ts';
import { type Facts, mayName } from '../gate/facts.ts';
import { passGate, type Verdict } from '../gate/gate.ts';
import { type Accepted, failedChecks } from '../gate/report.ts';
import { type History, type Judged, NO_HISTORY } from '../gate/subject.ts';
import { parseJson } from '../json.ts';
import type { Bucket } from '../storage/bucket.ts';
import { type Manifest, storedManifestSchema } from './manifest.ts';
import { datePointerKey, type Pointer, pointerSchema } from './pointer.ts';

const MOST_COMPARED = 7;
const MOST_POINTERS = 30;

interface Deps {
  bucket: Pick<Bucket, 'list' | 'read'>;
  deployment: Deployment;
  now: () => Date;
}

/** Judges a file that was read to its end, under today's settings. */
export async function judgeExport(run: Judged, facts: Facts, { bucket, deployment, now }: Deps): Promise<Verdict> {
  const today = now().toISOString().slice(0, 10);
  const history = run.publish ? await readHistory(bucket, { ...run, today }) : NO_HISTORY;
  return passGate({ run, settings: deployment.entities[run.entity], facts, history });
}

interface Wanted {
  entity: Entity;
  date: string;
  plan: string;
  /** Objects with a retention that ends by this date may be missing. */
  today: string;
}

/** The published exports, newest first, back to the release at which a person restarted the history (`newNormal`). */
export async function readHistory(
  bucket: Pick<Bucket, 'list' | 'read'>,
  { entity, date, plan, today }: Wanted,
): Promise<History> {
  const ownKey = datePointerKey(entity, date);
  const history = structuredClone(NO_HISTORY);
  for (const key of await pointersOf(bucket, entity)) {
    const { pointer, manifest } = await publishedAt(bucket, key, today);
    const own = key === ownKey;
    const expired = pointer && pointer.keptUntil <= today;
    if (!manifest && !expired && !own) history.unreadable += 1;
    const ofPlan = manifest?.run.entity === entity && manifest.run.plan === plan;
    if (pointer && ofPlan) add(history, manifest, pointer, own);
    if (pointer?.newNormal || history.comparedWith.length === MOST_COMPARED) break;
  }
  return history;
}

/** Keys of the pointers of an entity, newest first. */
async function pointersOf(bucket: Pick<Bucket, 'list'>, entity: Entity): Promise<string[]> {
  const listed = await bucket.list(`published/entity=${entity}/date=`);
  return listed
    .slice(-MOST_POINTERS)
    .reverse()
    .map(({ key }) => key);
}

/**
 * Adds an export. The export of the file's own date counts for comparison only if a person restarted the history with
 * it.
 */
function add(history: History, manifest: Manifest, { newNormal, released }: Pointer, own: boolean): void {
  if (own) history.ofDate = manifest;
  if (!own || newNormal) history.comparedWith.push(manifest);
  const { releasedBefore } = history;
  for (const one of [...(released ? acceptedBy(manifest) : []), ...manifest.releasedBefore]) {
    if (!releasedBefore.some((carried) => isDeepStrictEqual(carried, one))) releasedBefore.push(one);
  }
}

/** What the release of a file accepts in later files, for each check that had stopped it. */
function acceptedBy({ file, guards, run }: Manifest): Accepted[] {
  const stopped = guards ? failedChecks(guards).map(({ guard }) => guard) : [];
  return CHECKS.flatMap(({ id, kindOf }) => {
    const kind = kindOf?.(file) ?? null;
    if (kind === null || !stopped.includes(id)) return [];
    const columns = id === UNKNOWN_HEADER ? run.request.columns : null;
    return columns && file.content && !mayName(file.content, columns) ? [] : [{ guard: id, kind, columns }];
  });
}

/** A pointer and its manifest. An unreadable object, or a manifest whose retention has ended, counts as missing. */
async function publishedAt(bucket: Pick<Bucket, 'read'>, key: string, today: string) {
  const pointer = parseJson(pointerSchema, (await bucket.read(key))?.text);
  const manifestKey = pointer && pointer.keptUntil > today ? pointer.manifestKey : undefined;
  const manifest = manifestKey && parseJson(storedManifestSchema, (await bucket.read(manifestKey))?.text);
  return { pointer, manifest: manifest || undefined };
}
