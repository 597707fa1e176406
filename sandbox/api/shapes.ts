import type { Settings } from '../settings.ts';

const CREATE_ANSWERS: Record<Settings['createAnswer'], (id: string) => unknown> = {
  id: (id) => ({ id }),
  uuid: (uuid) => ({ uuid }),
  exportId: (exportId) => ({ exportId }),
  data: (id) => ({ data: { id } }),
  string: (id) => id,
};

const FIELD_LISTS: Record<Settings['fieldsShape'], (list: object[]) => unknown> = {
  array: (list) => list,
  data: (data) => ({ data }),
  fields: (fields) => ({ fields }),
  items: (items) => ({ items }),
};

/** The answer to a create, in the shape of the settings. */
export function createAnswer({ createAnswer: shape }: Settings, id: string): unknown {
  return CREATE_ANSWERS[shape](id);
}

/** The answer to a listing of fields, in the shape of the settings. */
export function fieldList({ fieldsShape }: Settings, list: object[]): unknown {
  return FIELD_LISTS[fieldsShape](list);
}
