import * as z from 'zod/mini';

/** What a probe can observe, and the form of an observation. */

export const pointSchema = z.strictObject({
  id: z.string(),
  point: z.string().check(z.describe('The row of docs/interface/open-points.md.')),
  verdict: z
    .enum(['as assumed', 'otherwise', 'not seen'])
    .check(z.describe('as assumed: a run accepts it. otherwise: a run fails because of it.')),
  what: z.string(),
  setting: z.nullable(z.string()).check(z.describe('What to change where a run fails; null: nothing.')),
});
type Point = z.infer<typeof pointSchema>;

/** What was observed about a point: a sentence without a value of a record, a token or a file address. */
interface Observation extends Pick<Point, 'verdict' | 'what'> {
  /** Replaces the setting of the point; `null` = no setting helps. */
  setting?: string | null;
}

export const assumed = (what: string): Observation => ({ verdict: 'as assumed', what });
export const notSeen = (what: string): Observation => ({ verdict: 'not seen', what });
export const failing = (what: string): Observation => ({ verdict: 'otherwise', what });

/**
 * The points that the interface document leaves open and that a probe can observe: the row of
 * docs/interface/open-points.md, and the setting to change if a run would fail.
 */
const POINTS = {
  'fields-shape': { point: '`GET /{entity}/fields` shape' },
  'token-presentation': { point: 'How the access token is presented' },
  'export-scope': { point: 'Scope of the export operations', setting: 'crm.scopes' },
  'export-id-field': { point: 'Field with the UUID in the stage 1 answer' },
  'status-record': { point: 'Record of stage 2' },
  'status-words': { point: 'Status words' },
  'file-host': { point: 'Host of the file URL', setting: 'crm.fileHosts' },
  'file-format': { point: 'Export file format', setting: 'entities.ENTITY.opaque' },
  'header-texts': { point: "Texts of a file's header", setting: 'entities.ENTITY.columns' },
} satisfies Record<string, { point: string; setting?: string }>;

/** Observations by the id of the point; a missing point was not reached. */
export type Notes = Partial<Record<keyof typeof POINTS, Observation>>;

/** All points in order, each with its observation. @param entity the one that was exported */
export function pointsOf(notes: Notes, entity = 'ENTITY'): Point[] {
  const all: Record<string, { point: string; setting?: string }> = POINTS;
  return Object.entries(all).map(([id, { point, setting: usual }]) => {
    const note = notes[id as keyof Notes] ?? notSeen('The probe ended before this point.');
    const { verdict, what, setting = usual?.replace('ENTITY', entity) ?? null } = note;
    return { id, point, verdict, what, setting: verdict === 'otherwise' ? setting : null };
  });
}
