import type { OpenPoint } from './open-point.ts';

/** What a request for an export holds. */
export const REQUEST = [
  {
    id: 'export-id-field',
    point: 'Field with the UUID in the stage 1 answer',
    assumed: '`id`',
    tolerated:
      'also `uuid`, `exportId`, any of them under `data`, or a bare JSON string; must be a UUID, else `CrmContractError` naming the keys seen',
    observed: 'the answer to the request for an export',
    assumedIn: 'core/crm/exports.ts',
  },
  {
    id: 'sort-definition',
    point: 'Sort definition',
    assumed: '`{ "field": string, "dir": "asc" | "desc" }`',
    tolerated:
      'sorts and filters are passed through unchanged from the configuration or the input; any further request key from the configuration only',
    cannotBeSeen:
      'that a request is accepted does not show that its sorts count, and the order would have to be read from values',
    assumedIn: 'core/export/request.ts',
  },
  {
    id: 'filter-definition',
    point: 'Filter definition',
    assumed: '`{ "field": string, "operator": string, "value": any }`',
    tolerated: 'as above',
    observed: 'only with `--filter`: a second export, with it, is refused, or its file is smaller',
    assumedIn: 'core/export/request.ts',
    setting: 'entities.ENTITY.filters',
  },
  {
    id: 'filters-operator',
    point: 'Combining operator',
    assumed: '`filtersOperator: "and" | "or"`',
    tolerated: 'field name configurable',
    cannotBeSeen: 'that a request is accepted does not show that its operator counts',
    assumedIn: 'core/export/request.ts',
    setting: 'crm.operatorField',
  },
  {
    id: 'email-flag',
    point: 'E-mail copy flag',
    assumed: '`sendEmail: boolean`, omitted when false',
    tolerated: 'field name configurable',
    cannotBeSeen: 'to try it would send somebody a mail',
    assumedIn: 'core/export/request.ts',
    setting: 'crm.emailField',
  },
  {
    id: 'fields-shape',
    point: '`GET /{entity}/fields` shape',
    assumed: 'array of objects with `fieldName`',
    tolerated:
      'also wrapped as `{ data: [...] }`, `{ fields: [...] }`, `{ items: [...] }`; of extra properties a label (`label`, `fieldLabel`) and a type (`type`, `fieldType`) are read where they are plain names, absent = null; the rest kept out',
    observed:
      'the lists of fields of all seven entities: where the list is, and under which names each field has its name, label and type',
    assumedIn: 'core/crm/fields.ts',
  },
] as const satisfies readonly OpenPoint[];
