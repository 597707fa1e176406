import * as z from 'zod/mini';

/** The report of a first meeting with the CRM, as `probe` prints and keeps it: shapes only. */

const sightingSchema = z.strictObject({
  id: z.string().check(z.describe('Of a row of docs/interface/open-points.md.')),
  verdict: z.enum(['as assumed', 'otherwise', 'not seen', 'cannot be seen']),
  what: z.string(),
  means: z
    .nullable(z.enum(['tolerated', 'setting', 'code']))
    .check(
      z.describe('Of what is otherwise: it is taken all the same, a setting expresses it, or the code assumes it.'),
    ),
});

const callSchema = z.strictObject({
  call: z.string().check(z.describe('As the interface document writes it.')),
  purpose: z.string().check(z.describe('The export that it belongs to: main, early or filter.')),
  status: z.nullable(z.int()).check(z.describe('null: there was no answer.')),
  at: z.int().check(z.describe('Milliseconds since the probe began.')),
  milliseconds: z.int(),
  mediaType: z.string(),
  headerNames: z.array(z.string()),
  headers: z.record(z.string(), z.string()).check(z.describe('Waits and limits; of no other header the value.')),
  shape: z.string().check(z.describe('Keys and types of the body.')),
});

export const probeReportSchema = z.strictObject({
  ok: z.boolean().check(z.describe('Whether the command ends with exit code 0.')),
  at: z.iso.datetime(),
  release: z.string().check(z.describe('Of the checkout that asked.')),
  host: z.string().check(z.describe('Of crm.baseUrl.')),
  ended: z.nullable(z.string()).check(z.describe('Why it went no further.')),
  sightings: z.array(sightingSchema),
  calls: z.array(callSchema),
  settings: z.record(z.string(), z.unknown()).check(z.describe('What differs, to be put into the configuration.')),
});
export type ProbeReport = z.infer<typeof probeReportSchema>;

const PROBES = 'probes/';

/** Names sort by time. */
export function probeKey({ at }: Pick<ProbeReport, 'at'>): string {
  return `${PROBES}${at.replace(/[-:]|\.\d+/g, '')}.json`;
}
