import type { Conversation } from '../conversation/exchange.ts';
import type { OPEN_POINTS } from '../open-points/open-points.ts';

export const VERDICTS = ['as assumed', 'otherwise', 'not seen', 'cannot be seen'] as const;

/**
 * What becomes of an answer that is not the assumed one: the product takes it as well, a setting expresses it, or its code has to
 * change.
 */
const MEANS = ['tolerated', 'setting', 'code'] as const;

/** What a meeting with the CRM showed of one open point. */
export interface Sighting {
  id: (typeof OPEN_POINTS)[number]['id'];
  verdict: (typeof VERDICTS)[number];
  /** A sentence without a value of a record, a token or a link. */
  what: string;
  /** Only where it is otherwise. */
  means?: (typeof MEANS)[number];
}

/** What the observer of a point may say: that it cannot be seen is said of points without one. */
export type Seen =
  | { verdict: 'as assumed' | 'not seen'; what: string }
  | { verdict: 'otherwise'; what: string; means: (typeof MEANS)[number] };

export type Observer = (conversation: Conversation) => Seen;

export const assumed = (what: string): Seen => ({ verdict: 'as assumed', what });
export const notSeen = (what: string): Seen => ({ verdict: 'not seen', what });
export const tolerated = (what: string): Seen => ({ verdict: 'otherwise', what, means: 'tolerated' });
export const needsSetting = (what: string): Seen => ({ verdict: 'otherwise', what, means: 'setting' });
export const needsCode = (what: string): Seen => ({ verdict: 'otherwise', what, means: 'code' });

/** The export of a probe whose file is looked at. */
export function mainOf({ exports }: Conversation) {
  return exports.find(({ purpose }) => purpose === 'main');
}

/** Each word once, in order: `id, data.id`. */
export function each(words: (string | null)[]): string {
  return [...new Set(words.filter((word) => word !== null))].join(', ');
}
