/**
 * The kinds of records that the CRM exports, spelt as in its paths (`docs/interface/reference.md`), in the order of
 * the nightly schedule and of every list. To add one, see `docs/new-entity.md`.
 */
export const ENTITIES = [
  'leads',
  'agent-numbers',
  'workflows',
  'contacts',
  'customers',
  'meetings',
  'employers',
] as const;

export type Entity = (typeof ENTITIES)[number];
