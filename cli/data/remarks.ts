import { factsOf, type Manifest } from '../../core/export/manifest.ts';
import { stoppedText } from '../../core/gate/words.ts';

type Described = Pick<Manifest, 'state' | 'kind' | 'differs' | 'guards' | 'file'>;

/** What a manifest says of its publication, besides its warnings; nothing of an ordinary export. */
export function remarksOf({ state, kind, differs, guards, file }: Described): string[] {
  const other = otherPlanText(differs);
  if (state === 'unpublished') return [`No reader gets this file: ${other}.`];
  const stopped = guards ? stoppedText(guards, factsOf({ file })) : 'was stopped';
  return [
    ...(state === 'quarantined' ? [`A guard stopped this file: it ${stopped}.`] : []),
    ...(kind === 'partial' ? [`Published for its date alone: ${other}.`] : []),
  ];
}

/** Why a run is of another plan: the keys by which it differs. */
export function otherPlanText(differs: string[]): string {
  return `its plan is another than the configured one${differs.length > 0 ? ` (${differs.join(', ')})` : ''}`;
}
