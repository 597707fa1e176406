import type { Entity } from '../../../core/config/entities.ts';
import { type Field, fieldsIn } from '../../../core/crm/fields.ts';
import { isPlainLabel, isPlainName } from '../../../core/suggestion.ts';
import type { SeenFields } from './exchange.ts';
import { valuesIn } from './harmless.ts';

/** What the product reads is looked for first, then what other services write. */
const NAME_KEYS = ['fieldName', 'name', 'key', 'field', 'field_name', 'apiName', 'column', 'id', 'code'];
const LABEL_KEYS = ['label', 'fieldLabel', 'displayName', 'title', 'caption', 'field_label'];
const TYPE_KEYS = ['type', 'fieldType', 'dataType', 'field_type'];

type Row = Record<string, unknown>;

/** The fields in an answer, found also where the product would not find them, so that the meeting can go on. */
export function lookForFields(entity: Entity, body: unknown): { seen: SeenFields; fields: Field[] } {
  const known = fieldsIn(body);
  const { path, rows } = listIn(body);
  const keyOf = (keys: string[]) => keys.find((key) => rows.some((row) => typeof row[key] === 'string')) ?? null;
  const [nameKey, labelKey, typeKey] = [keyOf(NAME_KEYS), keyOf(LABEL_KEYS), keyOf(TYPE_KEYS)];
  const fields = known ?? rows.flatMap((row) => fieldOf(row, { nameKey, labelKey, typeKey }));
  const count = fields.length;
  return { seen: { entity, read: known !== undefined, listAt: path, count, nameKey, labelKey, typeKey }, fields };
}

/** The first array of an answer, or an object whose keys name the fields. */
function listIn(body: unknown): { path: string | null; rows: Row[] } {
  const places = valuesIn(body);
  const array = places.find(({ value }) => Array.isArray(value) && value.length > 0);
  if (array && Array.isArray(array.value)) {
    return { path: array.key === '' ? 'list' : array.path, rows: array.value.flatMap(rowOf) };
  }
  const named = places.find(
    ({ value }) => isRow(value) && Object.values(value).length > 1 && Object.values(value).every(isRow),
  );
  if (!named || !isRow(named.value)) return { path: null, rows: [] };
  return {
    path: `keys of ${named.path}`,
    rows: Object.entries(named.value).map(([fieldName, row]) => ({ name: fieldName, ...(isRow(row) && row) })),
  };
}

/** A list may hold names alone. */
function rowOf(value: unknown): Row[] {
  if (isRow(value)) return [value];
  return typeof value === 'string' ? [{ name: value }] : [];
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldOf(row: Row, keys: Pick<SeenFields, 'nameKey' | 'labelKey' | 'typeKey'>): Field[] {
  const textAt = (key: string | null) => {
    const value = key === null ? undefined : row[key];
    return typeof value === 'string' ? value : '';
  };
  const name = textAt(keys.nameKey);
  if (!isPlainName(name)) return [];
  const [label, type] = [textAt(keys.labelKey), textAt(keys.typeKey)];
  return [{ name, label: isPlainLabel(label) ? label : null, type: isPlainName(type) ? type : null }];
}
