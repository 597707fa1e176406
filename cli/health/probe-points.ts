import * as z from 'zod/mini';

/** What a probe can observe, and the form of an observation. */

export const pointSchema = z.strictObject({
  id: z.string(),
  point: z.string().check(z.describe('The row of docs/interface/open-points.md.')),
  verdict: z.enum(['as assumed', 'otherwise', 'not seen']),
  what: z.string(),
  fails: z.boolean().check(z.describe('A run fails because of what differs.')),
  setting: z.nullable(z.string()).check(z.describe('What to change where a run fails; null: nothing.')),
});

/** What was observed about a point that the interface document leaves open. */
interface Observation {
  verdict: 'as assumed' | 'otherwise' | 'not seen';
  /** A sentence without a value of a record, a token or a file address. */
  what: string;
  /** A run would fail because of this. */
  fails?: boolean;
  /** Replaces the setting of the point; `null` = no setting helps. */
  setting?: string | null;
}

export const assumed = (what: string): Observation => ({ verdict: 'as assumed', what });
export const tolerated = (what: string): Observation => ({ verdict: 'otherwise', what: `${what} Runs accept it.` });
export const notSeen = (what: string): Observation => ({ verdict: 'not seen', what });
export const failing = (what: string): Observation => ({ verdict: 'otherwise', what, fails: true });

/**
 * The points that the interface document leaves open and that a probe can observe: the row of
 * docs/interface/open-points.md, and the setting to change if a run would fail.
 */
const POINTS = {
  'fields-shape': { point: '`GET /{entity}/fields` shape' },
  'agent-numbers-address': { point: 'Address of agent numbers' },
  'token-presentation': { point: 'How the access token is presented' },
  'export-scope': { point: 'Scope of the export operations', setting: 'crm.scopes' },
  'export-id-field': { point: 'Field with the UUID in the stage 1 answer' },
  'status-record': { point: 'Record of stage 2' },
  'status-words': { point: 'Status words' },
  'file-host': { point: 'Host of the file URL', setting: 'crm.fileHosts' },
  'link-lifetime': { point: 'Lifetime of the download URL' },
  'file-format': { point: 'Export file format', setting: 'entities.ENTITY.opaque' },
  'csv-dialect': { point: 'CSV dialect' },
  'header-texts': { point: "Texts of a file's header", setting: 'entities.ENTITY.columns' },
} satisfies Record<string, { point: string; setting?: string }>;

/** Observations by the id of the point; a missing point was not reached. */
export type Notes = Partial<Record<keyof typeof POINTS, Observation>>;

/** All points in order, each with its observation. @param entity the one that was exported */
export function pointsOf(notes: Notes, entity = 'ENTITY'): z.infer<typeof pointSchema>[] {
  const all: Record<string, { point: string; setting?: string }> = POINTS;
  return Object.entries(all).map(([id, { point, setting }]) => {
    const note = notes[id as keyof Notes] ?? notSeen('The probe ended before this point.');
    const { verdict, what, fails = false } = note;
    const named = note.setting === undefined ? setting?.replace('ENTITY', entity) : note.setting;
    return { id, point, verdict, what, fails, setting: (fails && named) || null };
  });
}
