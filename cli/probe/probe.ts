import { converse, type Ended, type ProbeDeps } from './conversation/converse.ts';
import type { Conversation, SeenGrant } from './conversation/exchange.ts';
import { sightingsOf } from './sightings/observers.ts';
import type { Sighting } from './sightings/sighting.ts';

/** What came of a first meeting with the CRM. */
export interface Probed {
  /** One for each open point, in the order of docs/interface/open-points.md. */
  sightings: Sighting[];
  /** What was seen: shapes, and no value of a record, token, id or link. */
  conversation: Conversation;
  /** Why the meeting went no further; `null` where it came to its end. */
  ended: Ended | null;
}

/** Meets the CRM once, within the bounds of a probe (docs/adr/0037), and says of every open point what was seen. */
export async function probe(deps: ProbeDeps): Promise<Probed> {
  const { conversation, ended } = await converse(deps);
  return { sightings: sightingsOf(conversation), conversation, ended };
}

/** What is known where the CRM gave no token. */
export function notMet(grant: SeenGrant, scopes: string[], ended: Ended): Probed {
  const conversation = { grant, scopes, exchanges: [], fields: [], exports: [], update: null };
  return { sightings: sightingsOf(conversation), conversation, ended };
}
