import * as z from 'zod/mini';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { fieldSchema, type ListedField, leftOutSchema } from '../../core/export/column-drift.ts';
import { isOfEarlierRelease } from '../../core/export/layout.ts';
import type { LeftOut } from '../../core/export/left-out.ts';
import { latestPointerKey, pointerSchema } from '../../core/export/pointer.ts';
import { parseJson } from '../../core/json.ts';
import type { Since } from '../../core/step/drift-schema.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isPlainLabel, isPlainName } from '../../core/suggestion.ts';

/** What a comparison needs of a manifest. */
const manifestSchema = z.object({
  date: z.iso.date(),
  execution: z.string(),
  fields: z.nullable(z.array(fieldSchema)),
  plan: z.string(),
  leftOut: z.array(leftOutSchema),
});

/** `undefined`: there is nothing to compare with. `unknown`: there should be, in half a sentence. */
export type LastColumns = KnownColumns | { unknown: string } | undefined;
interface KnownColumns {
  fields: ListedField[];
  since: Since;
  plan: string;
  leftOut: LeftOut[];
}

/** The columns of the newest published export. @throws RunError `StorageUnavailable`, which is waited out */
export async function lastColumns(read: Bucket['read'], entity: Entity): Promise<LastColumns> {
  try {
    const latest = await read(latestPointerKey(entity));
    if (!latest) return undefined;
    if (isOfEarlierRelease(latest.text)) return { unknown: 'it is of an earlier release, which counts as none' };
    const pointer = parseJson(pointerSchema, latest.text);
    if (!pointer) return { unknown: 'latest.json is no pointer of this software' };
    const object = await read(pointer.manifestKey);
    if (!object) return { unknown: `the manifest of ${pointer.date} is gone` };
    return columnsOf(parseJson(manifestSchema, object.text), pointer.date);
  } catch (error) {
    // The night needs no comparison; what else is wrong with the bucket, PublishFile finds.
    if (!(error instanceof RunError) || error.transient) throw error;
    return { unknown: 'the bucket does not let its pointer or manifest be read, or the manifest is gone' };
  }
}

function columnsOf(manifest: z.infer<typeof manifestSchema> | undefined, pointedTo: string): LastColumns {
  if (!manifest) return { unknown: `the manifest of ${pointedTo} cannot be read` };
  const { date, execution, fields, plan, leftOut } = manifest;
  if (fields === null) return { unknown: `the manifest of ${date} does not hold them` };
  const left = leftOut.map((field) => ({ ...field, label: plainLabel(field.label) }));
  return { fields: fields.map(plainField), since: { date, execution }, plan, leftOut: left };
}

/**
 * A type or label that is not plain becomes null: a run writes no such field, but somebody else may have written it.
 */
function plainField({ name, type, label }: ListedField): ListedField {
  return {
    name,
    type: type !== null && isPlainName(type) ? type : null,
    label: plainLabel(label),
  };
}

function plainLabel(label: string | null): string | null {
  return label !== null && isPlainLabel(label) ? label : null;
}
