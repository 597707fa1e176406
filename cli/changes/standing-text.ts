import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import type { FeedHead } from '../../core/changes/chain/head.ts';
import type { Entity } from '../../core/config/entities.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import type { TargetOptions } from '../support/target.ts';
import type { WantedFeeds } from './feeds.ts';

/** Why there is no feed of those that are asked for. */
export function noFeedText(entity: Entity, { sequence }: Pick<FeedHead, 'sequence'>, wanted: WantedFeeds): string {
  const { date, since = 0 } = wanted;
  if (date !== undefined) return `No feed of changes of ${entity} ends at ${date}.`;
  if (sequence === 0)
    return `No feed of changes of ${entity} yet: the first one comes behind a table, where the configuration has \`changes\` of ${entity}.`;
  if (since === sequence) return `No feed of changes of ${entity} is behind ${since}, the last one.`;
  if (since > sequence)
    return `No feed of changes of ${entity} is behind ${since}: the last one is ${sequence}. If the chain has begun anew, begin with it: --since 0.`;
  return `No feed of changes of ${entity} is left: the last one, ${sequence}, is not kept any more, or its record cannot be read.`;
}

/** Which feeds behind the place that is asked for are not kept; `undefined` where all are. */
export function gapText(
  feeds: FeedRecord[],
  { sequence }: Pick<FeedHead, 'sequence'>,
  { since }: WantedFeeds,
): string | undefined {
  if (since === undefined) return undefined;
  const first = feeds[0]?.sequence ?? sequence + 1;
  if (first <= since + 1) return undefined;
  const whole = feeds.find(({ kind }) => kind === 'snapshot');
  const then = whole ? ` The feed ${whole.sequence} has all rows: begin with it.` : '';
  const gone = first === since + 2 ? `The feed ${since + 1} is` : `The feeds ${since + 1} to ${first - 1} are`;
  return `${gone} not kept any more.${then}`;
}

/** That a mass deletion is stopped, which keys are gone, and what lets the next feed through. */
export function stopText(
  entity: Entity,
  { stopped, release, end }: Pick<FeedHead, 'stopped' | 'release' | 'end'>,
  place: TargetOptions,
): string[] {
  if (!stopped) return [];
  const { gone, keys, of, date } = stopped;
  const what = [`Stopped: ${gone} of ${keys} ${of} were gone from the table of ${date}.`];
  // A file of that date may have taken the place of the one that was told.
  if (end && end.date !== date) {
    const [name] = end.key.length === 1 ? end.key : [];
    const key = name === undefined || name === 'id' ? '' : ` --key ${quoted(name)}`;
    const dates = `--from ${end.date} --to ${date}`;
    what.push(`Which: ${commandFor(`diff ${entity} ${dates}${key} --show-keys`, place)}`);
  }
  if (release !== null) return [...what, 'A person lets the next feed through.'];
  return [...what, `To let the next feed through: ${commandFor(`changes ${entity} --release --reason "…"`, place)}`];
}
