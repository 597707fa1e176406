import { isDeepStrictEqual } from 'node:util';
import type { Entity } from '../config/entities.ts';
import { parseJson } from '../json.ts';
import type { Run } from '../step/states.ts';
import type { Bucket } from '../storage/bucket.ts';
import type { Compared } from './guards.ts';
import { type Manifest, manifestSchema } from './manifest.ts';
import { datePointerKey, type Pointer, pointerSchema } from './pointer.ts';

const MOST_COMPARED = 7;
const MOST_LOOKED_AT = 30;

interface History {
  comparedWith: Compared[];
  /** Pointers or manifests that are gone or say nothing, though they are to be kept: they are left out. */
  unreadable: number;
}

interface Wanted {
  entity: Entity;
  /** Its own file is no history. */
  date: string;
  /** Of equal plans. */
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

/** What is published of other dates, newest first, back to where a person let the guards begin anew. */
export async function readHistory(bucket: Bucket, { entity, date, matches, today }: Wanted): Promise<History> {
  const listed = await bucket.list(`published/entity=${entity}/date=`);
  const history: History = { comparedWith: [], unreadable: 0 };
  for (const { key } of listed.slice(-MOST_LOOKED_AT).reverse()) {
    const pointer = parseJson(pointerSchema, (await bucket.read(key))?.text);
    const mayBeGone = pointer !== undefined && pointer.keptUntil <= today;
    if (!mayBeGone && key !== datePointerKey(entity, date)) {
      const manifest = await manifestOf(bucket, pointer);
      if (!manifest) history.unreadable += 1;
      else if (matches(manifest)) history.comparedWith.push(comparedOf(manifest));
    }
    if (pointer?.newNormal || history.comparedWith.length === MOST_COMPARED) break;
  }
  return history;
}

async function manifestOf(bucket: Bucket, pointer: Pointer | undefined): Promise<Manifest | undefined> {
  return pointer && parseJson(manifestSchema, (await bucket.read(pointer.manifestKey))?.text);
}

function comparedOf({ date, execution, file }: Manifest): Compared {
  return { date, execution, rows: file.rows };
}
