import { lackingIn } from '../../core/night/lacking.ts';
import type { Night } from '../../core/night/marker.ts';

/** What the object of a night says of it. */
export interface MarkedNight extends Pick<Night, 'date' | 'revision' | 'complete'> {
  /** What it waits for: `leads`, or `leads (table)`. */
  lacking: string[];
}

export function markedNight(night: Night): MarkedNight {
  const { date, revision, complete } = night;
  return { date, revision, complete, lacking: complete ? [] : lackingIn(night) };
}

/**
 * `complete; revision 2`, or `not complete, lacks leads (paused), contacts (table); revision 3`. A paused entity is a part of the
 * night: without it none is complete.
 */
export function completenessText({ complete, lacking, revision }: MarkedNight, paused: readonly string[]): string {
  const names = lacking.map((name) => (paused.includes(name.split(' ')[0] ?? '') ? `${name} (paused)` : name));
  return `${complete ? 'complete' : `not complete, lacks ${names.join(', ')}`}; revision ${revision}`;
}
