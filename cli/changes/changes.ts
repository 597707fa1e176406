import { type Command, Option } from 'commander';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { readHead, type StandingHead, writeHead } from '../../core/changes/chain/head.ts';
import { type Entity, entitySchema } from '../../core/config/entities.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { commandFor, dateArgument, numberArgument, withExamples } from '../support/command-options.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { feedRecords } from './feeds.ts';

interface ChangesOptions extends TargetOptions {
  date?: string;
  since?: number;
  release?: boolean;
  reason?: string;
  json?: boolean;
}

/** Registers `changes`. */
export function addChanges(command: Command): void {
  command
    .argument('<entity>', 'an entity with `changes`')
    .option('--date <YYYY-MM-DD>', 'the feeds that end at this date; without it the newest', dateArgument)
    .addOption(
      new Option('--since <sequence>', 'all feeds behind this place in the chain')
        .argParser(numberArgument('A whole number from 0 on.', 0, Number.MAX_SAFE_INTEGER))
        .conflicts('date'),
    )
    .addOption(
      new Option('--release', 'let the next feed through, whatever is gone; with --reason').conflicts([
        'date',
        'since',
      ]),
    )
    .option('--reason <text>', 'why so much may be gone; stays beside the feed in the bucket')
    .option('--json', 'one JSON document')
    .action(changes);
  withExamples(command, {
    'changes leads --deployment prod': 'the newest feed, and whether a mass deletion was stopped',
    'changes leads --since 41 --deployment prod --json': 'what came behind the feed 41',
    'changes leads --release --reason "Archived" --deployment prod': 'so many records are gone for good',
  });
}

async function changes(named: string, options: ChangesOptions): Promise<void> {
  const entity = entitySchema.safeParse(named).data;
  if (!entity) throw new CommandError(`There is no entity ${plainLine(named)}.`, USAGE);
  if (options.release !== (options.reason !== undefined) && (options.release || options.reason !== undefined))
    throw new CommandError('--release and --reason go together.', USAGE);
  const target = await connect(options);
  const bucket = createBucket(target.s3, target.BucketName);
  const standing = await readHead(bucket, entity);
  if (options.reason !== undefined) return release(bucket, entity, standing, options.reason);
  const feeds = await feedRecords(bucket, entity, options);
  const { stopped, release: released } = standing.head;
  if (options.json) return printJson({ entity, feeds, stopped, release: released });
  printOut(feeds.length === 0 ? `No feed of changes of ${entity}.` : feeds.map(feedText).join('\n'));
  for (const line of stopText(entity, standing, options)) printErr(line);
}

function feedText({ sequence, kind, from, to, inserts, deletes, updates, rows }: FeedRecord): string {
  const between = from ? `${from.date} to ${to.date}` : to.date;
  const what =
    kind === 'snapshot'
      ? `all ${rows} rows, which replace everything`
      : `${inserts} inserted, ${deletes} deleted, ${updates} updated`;
  return `${sequence}  ${between}  ${what}  (${to.run})`;
}

function stopText(entity: Entity, { head: { stopped, release } }: StandingHead, options: ChangesOptions): string[] {
  if (!stopped) return [];
  const { gone, keys, date } = stopped;
  const what = `Stopped: ${gone} of ${keys} keys were gone from the table of ${date}.`;
  if (release !== null) return [what, 'A person lets the next feed through.'];
  return [what, `To let the next feed through: ${commandFor(`changes ${entity} --release --reason "…"`, options)}`];
}

async function release(bucket: Bucket, entity: Entity, standing: StandingHead, reason: string): Promise<void> {
  if (reason.trim() === '' || reason.length > 500)
    throw new CommandError('--reason takes a sentence of at most 500 characters.', USAGE);
  const { head } = standing;
  if (!head.stopped) throw new CommandError(`No feed of ${entity} is stopped: there is nothing to release.`, USAGE);
  if (!(await writeHead(bucket, entity, standing, { ...head, release: reason })))
    throw new CommandError(`A run moved the feeds of ${entity} at the same moment: look again.`, RUN_FAILED);
  const { gone, date } = head.stopped;
  printErr(
    `The next feed of ${entity} is let through, ${manyText(gone, 'key')} gone on ${date} and whatever is gone then.`,
  );
}
