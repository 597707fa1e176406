import type { Settings } from '../world/settings.ts';

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

const RECORDS: Record<Settings['recordShape'], (record: { id: string }) => unknown> = {
  bare: (record) => record,
  wrapped: (data) => ({ data }),
  withData: (record) => ({ ...record, data: { rows: 7 } }),
  uuid: ({ id: uuid, ...record }) => ({ uuid, ...record }),
  exportId: ({ id: exportId, ...record }) => ({ exportId, ...record }),
};

/** The answer to a create, in the shape of the settings. */
export function createAnswer({ createAnswer: shape }: Settings, id: string): unknown {
  return CREATE_ANSWERS[shape](id);
}

/** The answer to a read of the status, in the shape of the settings. */
export function exportRecord({ recordShape: shape }: Settings, record: { id: string }): unknown {
  return RECORDS[shape](record);
}

/** The answer to a listing of fields, in the shape of the settings. */
export function fieldList({ fieldsShape }: Settings, list: object[]): unknown {
  return FIELD_LISTS[fieldsShape](list);
}
