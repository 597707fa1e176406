import type { OpenPoint } from './open-point.ts';

/** Updates of customers, and the address of agent numbers. */
export const UPDATES = [
  {
    id: 'update-answer',
    point: 'Answer to an update',
    assumed: '200 with a JSON object body',
    tolerated: 'any other body (a page, nothing, not JSON): `UNKNOWN`, for nothing confirms the change',
    observed: 'only with `--customer`: the answer to one change',
    assumedIn: 'core/crm/customers.ts',
  },
  {
    id: 'update-5xx',
    point: '5xx to an update',
    assumed: '500, 502, 504, 520, 522, 524 and a lost or unreadable answer may have applied it',
    tolerated: 'from then on only a 200 with an object changes `UNKNOWN`',
    cannotBeSeen: 'the CRM would have to fail, and nothing shows what it did then',
    assumedIn: 'core/crm/customers.ts',
  },
  {
    id: 'update-null',
    point: '`null` in an update',
    assumed: 'not mentioned by the document',
    tolerated:
      'refused before anything is sent, unless the configuration says `updates.allowNull: true` (then "empties the field"); never for `updateRelated`',
    cannotBeSeen: 'that `null` is accepted does not show that it empties the field, and a value would be lost',
    assumedIn: 'core/updates/customer-fields.ts',
    setting: 'updates.allowNull',
  },
  {
    id: 'cell-number',
    point: '`cellNumber`',
    assumed: '"international format with leading +"',
    tolerated: 'a plus, then 7 to 15 digits with spaces, hyphens, dots, brackets between them; sent as it is',
    cannotBeSeen: 'which numbers are refused would have to be tried with values of a customer',
    assumedIn: 'core/updates/customer-fields.ts',
  },
  {
    id: 'custom-fields',
    point: '`customFields`',
    assumed: '`{}` and `{ "present": true }`',
    tolerated: 'unknown keys refused',
    cannotBeSeen: 'that it is accepted does not show what it does',
    assumedIn: 'core/updates/customer-fields.ts',
  },
  {
    id: 'kupat-holim',
    point: '`kupatHolimComplementary`',
    assumed: 'its tens digit groups plans by fund',
    tolerated: 'a plan of another fund than the one given beside it is warned about, not refused',
    cannotBeSeen: 'which plans are refused would have to be tried with values of a customer',
    assumedIn: 'core/updates/customer-fields.ts',
  },
  {
    id: 'monthly-revenue',
    point: '`monthlyRevenue`',
    assumed: 'any JSON number',
    tolerated: 'refused only where reading it would change it',
    cannotBeSeen: 'which numbers are kept would have to be read from a value of a customer',
    assumedIn: 'core/updates/kept-digits.ts',
  },
  {
    id: 'date-times',
    point: 'Date-times',
    assumed: 'ISO 8601 with an offset or Z',
    tolerated: 'seconds and fractions are optional',
    cannotBeSeen: 'which times are refused would have to be tried with values of a customer',
    assumedIn: 'core/updates/customer-fields.ts',
  },
  {
    id: 'agent-numbers-address',
    point: 'Address of agent numbers',
    assumed: '`agent-numbers`',
    tolerated: 'the un-hyphenated spelling in one reference is not used',
    observed: 'whether the fields of agent numbers are answered at that address',
    assumedIn: 'core/config/entities.ts',
  },
] as const satisfies readonly OpenPoint[];
