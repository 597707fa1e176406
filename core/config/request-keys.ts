import * as z from 'zod/mini';

const described = z.record(z.string(), z.unknown());

/** What an export requests: set for every night in the configuration, and for one run in the input of an execution. */
export const requestKeys = {
  columns: z
    .union([z.literal('all'), z.array(z.string().check(z.minLength(1))).check(z.minLength(1), z.maxLength(1000))])
    .check(
      z.describe('`"all"`: every column that the CRM lists (`GET /{entity}/fields`), or a list of names, in order.'),
    ),
  sorts: z
    .array(described)
    .check(z.maxLength(50), z.describe('Sort definitions, passed to the CRM unchanged. At most 50.')),
  filters: z
    .array(described)
    .check(z.maxLength(50), z.describe('Filter definitions, passed to the CRM unchanged. At most 50.')),
  filtersOperator: z.enum(['and', 'or']).check(z.describe('How several filters are combined.')),
  sendEmail: z.boolean().check(z.describe('Whether the CRM also sends the export by e-mail.')),
};
