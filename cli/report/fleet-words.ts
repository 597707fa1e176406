import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { completenessText } from '../night/marked.ts';
import { SIGNS } from '../runs/run/words.ts';
import { rulesNotes } from '../schedule/rule-state.ts';
import type { Look } from '../support/all-deployments.ts';
import { manyText } from '../support/text.ts';
import type { DeploymentRow } from './deployment-row.ts';
import type { Headline } from './words.ts';

/** `unknown`: of a deployment that could not be looked at. */
export type RowTone = Headline['tone'] | 'unknown';

/** How each tone is shown: never by its colour alone. */
export const SIGNS_OF_ALL: Record<RowTone, string> = { ...SIGNS, unknown: '?' };

/** What became of the last night, with what its object says, or why it is not known. */
export function outcomeOf({ found, why }: Look<DeploymentRow>): { tone: RowTone; text: string } {
  if (!found) return { tone: 'unknown', text: `Not known: ${why}` };
  const { tone, headline, night, paused } = found;
  return { tone, text: night ? `${headline}; ${completenessText(night, paused)}` : headline };
}

/** `31 h (leads)`: how old the oldest of the files is that readers get. */
export function ageText({ oldest, neverPublished }: DeploymentRow): string {
  const age = oldest ? `${oldest.hours} h (${oldest.entity})` : '';
  const never = neverPublished.length > 0 ? `${neverPublished.length} never published` : '';
  return [age, never].filter(Boolean).join(', ');
}

/** `2: ExecutionsAborted, NightIncomplete`; empty where none is raised. */
export function alarmsText({ alarms }: DeploymentRow): string {
  if (alarms === null) return 'not known';
  return alarms.length === 0 ? '' : `${alarms.length}: ${alarms.join(', ')}`;
}

/** `paused: leads; without a rule: 3 of 7`: empty where all rules are as deployed. Many names have no room. */
export function rulesText(row: DeploymentRow): string {
  const some = (entities: Entity[]) =>
    entities.length > 2 ? `${entities.length} of ${ENTITIES.length}` : entities.join(', ');
  return rulesNotes(row, some).join('; ');
}

/** `48 of 50 deployments have all of last night; without: agency-3; not known: agency-9`. */
export function headlineOfFleet(looks: Look<DeploymentRow>[]): { tone: Headline['tone']; text: string } {
  const by = Map.groupBy(looks, (look) => outcomeOf(look).tone);
  const names = (tone: RowTone) => fewOf((by.get(tone) ?? []).map(({ deployment }) => deployment));
  const parts = [
    ...(by.has('bad') ? [`without: ${names('bad')}`] : []),
    ...(by.has('unknown') ? [`not known: ${names('unknown')}`] : []),
    ...(by.has('open') ? [`open: ${names('open')}`] : []),
  ];
  const good = by.get('good')?.length ?? 0;
  const text = [`${good} of ${manyText(looks.length, 'deployment')} have all of last night`, ...parts].join('; ');
  return { tone: by.has('bad') || by.has('unknown') ? 'bad' : by.has('open') ? 'open' : 'good', text };
}

const NAMED = 5;

function fewOf(names: string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${names.slice(0, NAMED).join(', ')}${more}`;
}

const FIRST: RowTone[] = ['bad', 'unknown', 'open', 'good'];

/** What somebody has to look at comes first. */
export function worstFirst(looks: Look<DeploymentRow>[]): Look<DeploymentRow>[] {
  const place = (look: Look<DeploymentRow>) => FIRST.indexOf(outcomeOf(look).tone);
  return looks.toSorted((one, other) => place(one) - place(other));
}
