import { factsOf, type Manifest } from '../../core/export/manifest.ts';
import { isReadFormat } from '../../core/files/read-formats.ts';
import { stoppedText } from '../../core/gate/words.ts';

type Described = Pick<Manifest, 'state' | 'kind' | 'differs' | 'guards' | 'file'>;

/** What a manifest says of its publication, besides its warnings; nothing of an ordinary export. */
export function remarksOf({ state, kind, differs, guards, file }: Described): string[] {
  const other = otherPlanText(differs);
  const unread = isUnjudged(file) ? [unjudgedText(file.format)] : [];
  if (state === 'unpublished') return [`No reader gets this file: ${other}.`, ...unread];
  const stopped = guards ? stoppedText(guards, factsOf({ file })) : 'was stopped';
  return [
    ...(state === 'quarantined' ? [`A guard stopped this file: it ${stopped}.`] : []),
    ...(kind === 'partial' ? [`Published for its date alone: ${other}.`] : []),
    ...unread,
  ];
}

/** Tells whether nobody has looked into the file, because its kind is published as it is. */
export function isUnjudged(file: Pick<Manifest['file'], 'format'> | undefined): boolean {
  return file !== undefined && !isReadFormat(file.format);
}

function unjudgedText(format: string | null): string {
  return `Nobody has looked into this file: it is of the kind ${format}, so its columns and rows are not known.`;
}

/** Why a run is of another plan: the keys by which it differs. */
export function otherPlanText(differs: string[]): string {
  return `its plan is another than the configured one${differs.length > 0 ? ` (${differs.join(', ')})` : ''}`;
}
