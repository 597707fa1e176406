import * as z from 'zod/mini';

/**
 * The seven kinds of records that the service exports, spelt as in its paths (`docs/interface/`, section 4.2).
 * The order is the order of the nightly schedule, of every table and of every list that a person reads.
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

export const entitySchema = z.enum(ENTITIES);

export type Entity = z.infer<typeof entitySchema>;
