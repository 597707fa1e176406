import { LAYOUT } from '../../core/export/layout.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import {
  datePointerKey,
  latestPointerKey,
  movePointer,
  readPointer,
  type Standing,
} from '../../core/export/pointer.ts';
import { NOT_PUBLISHED, publishedValue, sharedAs } from '../../core/readers/reader-access.ts';
import { withheldReason } from '../../core/readers/withheld.ts';
import type { Run } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable } from '../../core/storage/read-object.ts';

/**
 * Reads the pointer of the date and, unless the run has its own plan, that of the newest date. It is called before any
 * write.
 */
export async function readPointers(
  bucket: Bucket,
  { entity, date, kind }: Pick<Run, 'entity' | 'date' | 'kind'>,
): Promise<Standing[]> {
  const keys = [datePointerKey(entity, date), ...(kind === 'partial' ? [] : [latestPointerKey(entity)])];
  const standing: Standing[] = [];
  for (const key of keys) standing.push(await readPointer(bucket, key));
  return standing;
}

/** Whether a partial export would replace a full one of its date. It must not: readers keep the full one. */
export function wouldReplaceFull({ kind }: Pick<Run, 'kind'>, [ofDate]: Standing[]): boolean {
  return kind === 'partial' && ofDate?.run !== undefined && ofDate.run.kind !== 'partial';
}

/**
 * Moves the pointers. Readers in other accounts need a tag on the file. It is set before a pointer moves, and reset to
 * `NOT_PUBLISHED` if no pointer names the file in the end.
 * @returns for each pointer, whether it names this run
 */
export async function movePointers(
  { bucket, deployment }: Pick<Invocation, 'deployment'> & { bucket: Bucket },
  pointers: Standing[],
  manifest: Manifest & { manifestKey: string },
  released = false,
  newNormal = false,
): Promise<boolean[]> {
  const { startedAt, execution, manifestKey, file, run } = manifest;
  const { entity, date, keptUntil, kind } = run;
  const plan = deployment.entities[entity];
  // A deployment may have left out more columns since the run began.
  const isShared = sharedAs('files', deployment).includes(entity) && withheldReason(manifest, plan) === undefined;
  const named = { schemaVersion: LAYOUT, entity, date, startedAt, execution, manifestKey, keptUntil, kind };
  const moved: boolean[] = [];
  const tag = async (value: string) => {
    for (const key of isShared ? [file.key, manifestKey] : []) await bucket.tag(key, value);
  };
  const isNamed = () => moved.includes(true) || pointers.some(({ run }) => run?.execution === execution);
  try {
    await tag(publishedValue(entity, plan));
    for (const standing of pointers) moved.push(await movePointer(bucket, standing, { ...named, released, newNormal }));
  } catch (error) {
    // If S3 did not answer, the pointer may have moved, and the step is retried.
    if (!isNamed() && !isUnavailable(error)) await tag(NOT_PUBLISHED).catch(() => undefined);
    throw error;
  }
  if (!isNamed()) await tag(NOT_PUBLISHED);
  return moved;
}

/**
 * `TABLE_DUE` if the state machine must write a table of this file next. A partial export gets no table: its records do
 * not match the table's other dates.
 * @param ofDate whether the pointer of the date names this run. Otherwise a later run writes the table.
 */
export function publishedOutcome(
  { entity, kind }: Pick<Run, 'entity' | 'kind'>,
  ofDate: boolean,
  { deployment }: Pick<Invocation, 'deployment'>,
): 'PUBLISHED' | 'TABLE_DUE' {
  const wanted = ofDate && kind !== 'partial' && deployment.entities[entity].tables !== undefined;
  return wanted ? 'TABLE_DUE' : 'PUBLISHED';
}
