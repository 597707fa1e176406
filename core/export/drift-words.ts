import type { Drift } from '../step/drift-schema.ts';
import { quotedName } from '../suggestion.ts';
import type { Changes } from './column-drift.ts';

/** The most changes that one sentence names. */
const MOST_NAMED = 10;

/** A sentence for each kind of change. @param date of the export that was compared with */
export function changeTexts({ added, removed, retyped, relabelled }: Changes, date: string) {
  const since = `the export of ${date}`;
  return {
    removed: sentence(`Columns that the CRM no longer lists since ${since}`, removed, quoted),
    added: sentence(`Columns that the CRM lists newly since ${since}`, added, quoted),
    retyped: sentence(`Columns with another type than at ${since}`, retyped, changed),
    relabelled: sentence(`Columns with another label than at ${since}`, relabelled, changed),
  };
}

/** Sentences about all changes that a manifest knows. */
export function driftTexts(drift: Drift): string[] {
  const { unnamed } = drift;
  const texts = Object.values(changeTexts(drift, drift.since.date)).flatMap((text) => text ?? []);
  return unnamed > 0 ? [...texts, `Further changes of columns that are not named: ${unnamed}.`] : texts;
}

/** Labels are no change of the schema. */
export function countChanges({ added, removed, retyped, unnamed }: Drift): number {
  return added.length + removed.length + retyped.length + unnamed;
}

function sentence<T>(begin: string, all: readonly T[], textOf: (one: T) => string): string | undefined {
  if (all.length === 0) return undefined;
  const others = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  return `${begin}: ${all.slice(0, MOST_NAMED).map(textOf).join(', ')}${others}.`;
}

const quoted = (name: string) => quotedName(name);
const changed = ({ name, from, to }: Changes['retyped'][number]) => `${quotedName(name)} (${to}, was ${from})`;
